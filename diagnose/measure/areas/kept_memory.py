"""Memory that steps take from the system anew each time: what the run found when malloc kept what is freed
(`diagnose.run.child.trials.heap_look`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from diagnose.measure.areas.settings import NOT_TRIED, ONLY_NOISE, QUANTILE, shorter_share
from diagnose.measure.measured import FactPlace, Measured, Value, fact_selector, metric
from diagnose.measure.missing import Missing
from diagnose.measure.page_faults import PageFaults, kept_away, kept_away_ms, of_plain_steps

_WARM_CACHES = 1.5
_STEADY = 1.25  # the third quartile of steps over the first: 1.04 alone on a machine, 1.4 beside others
_USUAL = 2.0  # × the median of steps of a kind
_NEW = 0.3  # of what faults give: a process that grows by so much needs it


@metric(
    "kept_memory_gain_share",
    "share",
    "Share of the step that goes if malloc keeps what is freed, as tried in this run",
)
def _kept_memory_gain_share(measured: Measured) -> Value | Missing:
    trial = _trial(measured)
    if trial is None:
        return NOT_TRIED
    before, step_ms = kept_away(measured.recording), measured.number("step_ms")
    if before is not None:  # plain steps had none of these faults: what was put back into each goes again
        return 0.0 if _is_needed(measured, before) else kept_away_ms(measured.recording) / step_ms
    share = shorter_share(trial) if trial["as_is_ms"] else 0.0  # with few page faults nothing was tried
    if share is ONLY_NOISE:
        return _of_system_alone(measured, trial) if _was_disturbed(trial) else 0.0
    if isinstance(share, Missing) or not share:
        return share
    # the steps as they are came first, and may have been slow for another reason
    beside_plain = 1 - float(np.quantile(trial["changed_ms"], QUANTILE)) / step_ms
    return max(0.0, min(share, beside_plain, _most(measured, trial)))


def _most(measured: Measured, trial: dict[str, Any]) -> float:
    """No more can go than the system has worked less, but for caches that stay warm. Steps that were timed
    apart differ by what else the machine did, too.
    """
    if trial.get("apart"):
        return _of_system_alone(measured, trial)
    return _of_step(measured, trial, _WARM_CACHES * trial["system_ms"])


def _was_disturbed(trial: dict[str, Any]) -> bool:
    """Whether what else the machine did moved the steps by more than most gains."""
    quartiles = [np.quantile(trial[kind], [0.25, 0.75]) for kind in ("as_is_ms", "changed_ms")]
    return any(last > _STEADY * first for first, last in quartiles)


def _of_system_alone(measured: Measured, trial: dict[str, Any]) -> float:
    """What the system works less, shared among the cores in use: processor time tells where wall time cannot.
    0 where that is not known.
    """
    cores = measured.number("cpu_cores_used")
    if not cores > 0:
        return 0.0
    return max(0.0, _of_step(measured, trial, trial["system_ms"] / max(1.0, cores)))


def _of_step(measured: Measured, trial: dict[str, Any], saved_ms: float) -> float:
    """Its share of the step; less where plain steps have fewer page faults than those of the trial."""
    return saved_ms / measured.number("step_ms") * _also_in_plain_steps(measured, trial["page_faults"])


def _trial(measured: Measured) -> dict[str, Any] | None:
    """Where steps kept their memory by themselves once something was recorded, or most of it, the plain ones
    stand for those that do not (``apart``: timed long before the others); where these kept it, too, those
    before.
    """
    trial = _usual_steps(measured.recording.facts.get("kept_memory"))
    if trial is None or not trial["changed_ms"] or "kept_system_ms" not in trial:
        return trial
    recording = measured.recording
    before, plain = kept_away(recording), of_plain_steps(recording)
    usual = before or (plain if plain is not None and plain.are_far_more(trial["page_faults"]) else None)
    if usual is None or _is_needed(measured, usual):
        return trial
    return trial | {
        "page_faults": int(usual.number),
        "system_ms": usual.system_ms - trial["kept_system_ms"],
        "as_is_ms": (recording.step_ns("plain") / 1e6).tolist(),
        "apart": True,
    }


def _usual_steps(trial: dict[str, Any] | None) -> dict[str, Any] | None:
    """Without those that do something else as well: they start a process, or end an epoch."""
    if trial is None:
        return None
    return trial | {
        kind: [ms for ms in trial[kind] if ms <= _USUAL * np.median(trial[kind])]
        for kind in ("as_is_ms", "changed_ms")
    }


def _is_needed(measured: Measured, faults: PageFaults) -> bool:
    """Whether the process grows by much of what they give: it needs that, whoever keeps what."""
    resident = measured.recording.facts["rss_series_bytes"]
    steps = measured.recording.memory_steps(len(resident))
    return float(resident[-1] - resident[0]) / max(1, int(steps[-1] - steps[0])) > _NEW * faults.bytes


def _also_in_plain_steps(measured: Measured, page_faults: int) -> float:
    """As large a part of the faults as steps had before anything was recorded: what a recording leaves in the
    heap may make malloc give back what it kept until then. Older recordings did not count these.
    """
    usage = measured.recording.facts.get("plain_usage") or {}
    plain: float | None = usage.get("page_faults_per_step")
    return min(1.0, plain / max(1, page_faults)) if plain is not None else 1.0


@metric("page_fault_count_per_step", "count", "Page faults in a step: memory pages that were given anew")
def _page_fault_count_per_step(measured: Measured) -> Value | Missing:
    trial = _trial(measured)
    return NOT_TRIED if trial is None else int(trial["page_faults"])


@fact_selector("memory_taken_anew", "memory that steps take from the system anew each time")
def _memory_taken_anew(measured: Measured) -> list[FactPlace] | Missing:
    """By the lines whose results take most of it, as far as they are known."""
    share = measured.metric("kept_memory_gain_share")
    if isinstance(share, Missing):
        return share
    cost_ms = float(share) * measured.number("step_ms")
    large = (measured.recording.facts.get("dataflow") or {}).get("large") or []
    whole_bytes = sum(line["bytes"] for line in large)
    if not whole_bytes:
        return [FactPlace("", -1, "", 1.0, cost_ms)]
    return [
        FactPlace(one["file"], one["line"], one["function"], 1.0, cost_ms * one["bytes"] / whole_bytes)
        for one in large
    ]
