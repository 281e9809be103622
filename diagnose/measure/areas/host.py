"""The host: processors and threads, and who else uses them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from diagnose.measure.measured import FactPlace, Measured, Value, fact_metric, fact_selector, metric
from diagnose.measure.missing import NO_FACTS, NO_STEPS, ONLY_IN_A_RUN, Missing, known

# torch splits an operator among threads from 32,768 elements on, tens of µs of
# work; here there is plenty to split
LONG_OP_NS = 1_000_000
FULL = 0.9  # of the machine's processor time: no core is left for what comes in between
OTHERS_SHARE = 0.25
# of a core for each thread: with less, a thread waits for another one's core often
# enough to slow those that wait for it
ROOM = 0.75
# of the plain steps' time; with that much, and two threads, steps without their delays were seen 1.7 to 20
# times as long as on a quiet machine (docs/decisions.md, 109)
MUCH_DELAYED = 0.2

fact_metric("cpu_core_count", "count", "Number of CPU cores that this script may use")
fact_metric("thread_count", "count", "Number of threads that torch uses for one operator")


def usage(measured: Measured, name: str) -> Any:
    """One of facts.json's plain_usage, or Missing."""
    known = measured.recording.facts.get("plain_usage") or {}
    if known.get(name) is not None:
        return known[name]
    return Missing("what the plain steps used of the machine was not recorded", in_trace=ONLY_IN_A_RUN)


def _usage_metric(name: str, unit: str, meaning: str) -> None:
    metric(name, unit, meaning)(lambda measured: usage(measured, name))


_usage_metric(
    "cpu_cores_used", "count", "Number of CPU cores that the script itself kept busy while steps were timed"
)
_usage_metric("machine_busy_share", "share", "Share of the machine's CPU time in use while steps were timed")
_usage_metric("swap_in_bytes_per_s", "bytes", "Memory read back from swap per second while steps were timed")
_usage_metric("read_bytes_per_s", "bytes", "Data read from storage per second while steps were timed")
_usage_metric(
    "involuntary_switches_per_step",
    "count",
    "Times per step that the system took a core from one of the script's threads",
)


@metric("iowait_core_count", "count", "Number of CPU cores that waited for storage")
def _iowait_core_count(measured: Measured) -> Value | Missing:
    return float(known(usage(measured, "iowait_share"))) * _machine_core_count(measured)


def _machine_core_count(measured: Measured) -> float:
    return float(measured.recording.facts.get("machine_core_count") or known(measured.fact("cpu_core_count")))


def _worker_cores_used(measured: Measured) -> float:
    """Cores that loader workers kept busy, at most: all the time they
    fetched, as far as that was recorded.
    """
    return (
        measured.number("loader_worker_count") * busy
        if (busy := measured.number("worker_busy_share")) > 0
        else 0.0
    )


@metric(
    "idle_core_count", "count", "Number of available CPU cores that neither the script nor its workers used"
)
def _idle_core_count(measured: Measured) -> Value | Missing:
    return max(
        0.0,
        measured.needed("cpu_core_count") - measured.needed("cpu_cores_used") - _worker_cores_used(measured),
    )


@metric("others_busy_share", "share", "Share of CPU time that other programs used while steps were timed")
def _others_busy_share(measured: Measured) -> Value | Missing:
    busy, used = measured.needed("machine_busy_share"), measured.needed("cpu_cores_used")
    if ((measured.recording.facts.get("process_group") or {}).get("world_size") or 1) > 1:
        return Missing("the other ranks of this job look like other programs here")
    return max(0.0, busy - (used + _worker_cores_used(measured)) / _machine_core_count(measured))


@metric(
    "crowded",
    "yes/no",
    "Every core was busy, a quarter or more of it with other processes than the script (no if not recorded)",
)
def _crowded(measured: Measured) -> Value | Missing:
    busy, used = measured.number("machine_busy_share"), measured.number("cpu_cores_used")
    if not busy >= FULL or math.isnan(used):
        return False
    return busy - used / _machine_core_count(measured) >= OTHERS_SHARE


@metric(
    "starved",
    "yes/no",
    "Other programs kept every core busy and left less than three quarters of a core per thread "
    "(no if not recorded)",
)
def _starved(measured: Measured) -> Value | Missing:
    busy, others = measured.number("machine_busy_share"), measured.number("others_busy_share")
    if not (busy >= FULL and others > 0 and measured.number("involuntary_switches_per_step") >= 1):
        return False
    threads = min(measured.number("thread_count"), measured.number("cpu_core_count"))
    return _machine_core_count(measured) * (1 - others) < ROOM * threads


@metric(
    "disturbed",
    "yes/no",
    "Other programs slowed the steps, and their effect cannot be removed (no if not recorded)",
)
def _disturbed(measured: Measured) -> Value | Missing:
    return (measured.metric("crowded") is True or measured.metric("starved") is True) and not _is_left_out(
        measured
    )


def _is_left_out(measured: Measured) -> bool:
    """Whether the steps' delays are known and nothing but the training thread was delayed in them, some
    steps or parts not at all.
    """
    steps, delayed = measured.plain_steps, measured.metric("delayed_share")
    if (
        steps is None
        or isinstance(delayed, Missing)
        or measured.has_gpu
        or not measured.recording.trains_alone
    ):
        return False
    return not measured.number("loader_worker_count") > 0 and (
        not steps.delayed or (measured.parts is not None and not measured.metric("waits_in_vain"))
    )


@metric(
    "waits_in_vain",
    "yes/no",
    "Threads of an operator had no core for much of the time, and the others waited for them (no if not "
    "recorded)",
)
def _waits_in_vain(measured: Measured) -> Value | Missing:
    """The others spin or sleep meanwhile, and look busy: some steps take longer at random."""
    delayed = measured.metric("delayed_share")
    if isinstance(delayed, Missing):
        return False
    return measured.number("thread_count") > 1 and float(delayed) >= MUCH_DELAYED


@metric("threads_per_core", "ratio", "Threads that torch uses for one operator, per available CPU core")
def _threads_per_core(measured: Measured) -> Value | Missing:
    return measured.needed("thread_count") / measured.needed("cpu_core_count")


@metric("spare_core_count", "count", "Number of idle CPU cores that torch has no thread for")
def _spare_core_count(measured: Measured) -> Value | Missing:
    unused = measured.needed("cpu_core_count") - measured.needed("thread_count")
    others = measured.needed("others_busy_share") * _machine_core_count(measured)
    return max(0.0, min(measured.needed("idle_core_count"), unused) - others)


@metric("long_op_share", "share", "Share of the step spent in operators of 1 ms or more (their own time)")
def _long_op_share(measured: Measured) -> Value | Missing:
    view = measured.timeline
    if view is None:
        return NO_STEPS
    is_op = view.kind == "op"
    parents = view.host["parent"].to_numpy()[is_op]
    is_leaf = np.ones(len(view.host), bool)
    is_leaf[parents[parents >= 0]] = False
    long = is_op & is_leaf & (view.host["dur_ns"].to_numpy() >= LONG_OP_NS)
    return view.ms_per_step(view.host_intervals(view.named(long))) / (view.step_ns / 1e6)


@fact_selector("whole_process", "the whole process (no single line)")
def _whole_process(measured: Measured) -> list[FactPlace] | Missing:
    return NO_FACTS if not measured.recording.facts else [FactPlace("", -1, "", 0.0, None)]
