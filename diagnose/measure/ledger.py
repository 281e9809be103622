"""The step ledger: every nanosecond of the complete steps under exactly one heading.

It is built by peeling: each row takes its share of what the rows before it left over, so the parts add up to
the steps by construction. With GPU events it is the ledger of the busiest device: busy time by what ran, idle
time by what held the host back. Without, it is the ledger of the training thread.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diagnose.measure.first_calls import COPY_CALL, first_calls
from diagnose.measure.queued import late_starts
from diagnose.measure.view import NO_INTERVALS, Intervals, Rows, View, once
from diagnose.trace.columns import among
from diagnose.trace.intervals import as_intervals, intersect, subtract, total, union
from diagnose.trace.quirks import XLA_COMPILATION

SYNC_CALL = (
    r"^(cuda|hip)(Stream|Device|Event|Ctx)Synchronize|^cu(Stream|Ctx|Event)Synchronize"
    r"|^(hipMemcpyWithStream|hipMemcpy|cudaMemcpy)$"
    # Intel's: Unified Runtime, PI, Level Zero
    r"|^(ur|pi)(EventWait|EventsWait|QueueFinish)$|^ze\w+Synchronize$"
)
ALLOCATOR_CALL = (
    r"^(cuda|hip)(Malloc|Free|HostAlloc|HostMalloc|HostFree|FreeHost|MallocHost|HostRegister)"
    r"|^(cuda|hip|cu)Mem(Create|Map|Unmap|Release)"
    r"|^(ur|piext)USM(Device|Host|Shared)?(Alloc|Free)|^zeMem(Alloc|Free)"
)
# (A compiled function runs in Python frames of compile_fx.py, too.)
COMPILATION = (
    r"dynamo_timed|compile_fx\.py\(\d+\): \w*compil|CompiledFunction::compile|_compile\.compile_inner"
    r"|async_compile\.py\(\d+\): (wait|\w*compil|triton)|^async_compile|^compile_fx"
    rf"|^({XLA_COMPILATION})"
)
BEGIN_CAPTURE, END_CAPTURE = r"^(cuda|hip|cu)StreamBeginCapture", r"^(cuda|hip|cu)StreamEndCapture"
MAKES_GRAPH = r"^(cuda|hip|cu)GraphInstantiate"
COMPILED_CALL = r"^CompiledFunction$|^Torch-Compiled Region"
COPY_OP = r"^aten::(copy_|_to_copy|to)$"
# Dispatching an operator takes microseconds. An idle gap this long has another cause: a
# library loading, an operator on the host.
LAUNCH_GAP_NS = 1_000_000
# So does a call that enqueues a copy. One that takes this long waits for the
# copy, which pageable memory makes it do.
BLOCKING_COPY_NS = 100_000
# A device takes some microseconds from one event to the next. Where that was launched so long
# before, a faster host would gain nothing.
TURN_NS, QUEUED_NS = 10_000, 10_000
USUAL_TURN_NS = 1_500  # between kernels that were queued, in recordings of various GPUs
# of the overhead category: the host waits in a launch, because it is as far ahead as it can be
QUEUE_FULL = r"^Command Buffer Full$"
# in which torch's operators run, of a ledger without GPU events
TORCH_ROWS = ("forward", "backward", "optimizer", "operators")
# of a ledger with GPU events; its other rows are idle time
BUSY_ROWS = ("compute", "exposed_communication", "exposed_copies")
# in which the host is not what holds the GPU up: it runs, or does not run what it was given
DEVICE_ROWS = (*BUSY_ROWS, "queued")
READ_MARKS = ("item", "tolist", "cpu", "numpy", "bool", "float", "int", "index", "repr", "format", "nonzero")

TITLES: dict[str, tuple[str, str]] = {
    "compute": ("Compute", "kernels run on the GPU"),
    "exposed_communication": ("Exposed communication", "the GPU runs a collective and nothing else"),
    "exposed_copies": ("Exposed copies", "the GPU copies or sets memory and computes nothing"),
    "queued": ("Queued, not running", "work was launched and the idle GPU did not run it"),
    "input_wait": ("Input wait", "the training thread waits for the next batch"),
    "first_calls": (
        "First calls",
        "a kernel, a library or the GPU is loaded or set up, which happens once: no later step has it",
    ),
    "compilation": ("Compilation", "kernels or graphs are compiled, or graphs captured"),
    "allocator": ("Allocator", "the GPU idles while memory is requested from or returned to the driver"),
    "profiler": ("Profiler", "the profiler's own work"),
    "host_sync": ("Host sync", "the GPU idles because the host waited for it and had queued nothing"),
    "launch_bound": (
        "Launch-bound",
        "the GPU idles for moments while the host prepares and launches operators",
    ),
    "host_work": (
        "Host operators",
        "the GPU idles for longer while an operator works on the host: start-up, or work on CPU tensors",
    ),
    "forward": ("Forward", "the model's forward, Python included"),
    "backward": ("Backward", "the backward pass"),
    "optimizer": ("Optimizer", "the optimizer's step"),
    "host_reads": (
        "Reading tensor values",
        "`.item()`, printing, truth values and other reads of tensor values",
    ),
    "copies": ("Copies", "tensors copied or converted outside the model"),
    "operators": ("Other operators", "operators outside forward, backward and optimizer"),
    "python": ("Python", "no operator runs: your Python code, or waiting outside torch"),
    "unattributed": (
        "Unattributed",
        "the GPU goes from one event to the next, may run what was launched before the recording, "
        "or no event explains the time",
    ),
}


@dataclass(frozen=True)
class Ledger:
    """``rows``: name → disjoint intervals, int64 ns, in the order of the table;
    together they are exactly ``span``.
    """

    device: str
    span: Intervals
    rows: dict[str, Intervals]

    def ns(self, row: str) -> int:
        return total(self.rows.get(row, NO_INTERVALS))

    def share(self, row: str) -> float:
        whole = total(self.span)
        return self.ns(row) / whole if whole else float("nan")


@once
def step_ledger(view: View) -> Ledger:
    """The ledger of the view's complete steps."""
    return device_ledger(view, view.devices[0]) if view.has_device else _host_ledger(view)


def _peeled(span: Intervals, claims: dict[str, Intervals], rest: str) -> dict[str, Intervals]:
    """Each claim gets what is left of the span when its turn comes; the remainder is called ``rest``."""
    rows: dict[str, Intervals] = {}
    left = span
    for row, claimed in claims.items():
        rows[row] = intersect(left, union(claimed))
        left = subtract(left, rows[row])
    rows[rest] = left
    return rows


# ---- the training thread (no GPU in the recording)


def _host_ledger(view: View) -> Ledger:
    on_thread = view.on_training_thread

    def of(test: np.ndarray) -> Intervals:
        return view.host_intervals(np.flatnonzero(test & on_thread))

    ops = view.kind == "op"
    rows = _peeled(
        view.span,
        {
            "input_wait": of(view.loader_next),
            "backward": of(view.marked("backward") | view.host["backward"].to_numpy()),
            "forward": of(view.marked("forward")),
            "optimizer": of(view.optimizer_steps),
            "host_reads": of(view.marked(*READ_MARKS)),
            "compilation": of(view.name_matches(COMPILATION)),
            "copies": of(ops & view.name_matches(COPY_OP)),
            "operators": of(ops),
            "profiler": of(view.kind == "overhead"),
        },
        rest="python" if on_thread.any() else "unattributed",
    )
    return Ledger("CPU", view.span, rows)


# ---- a GPU


def device_ledger(view: View, ordinal: int) -> Ledger:
    """The ledger of one device of those that did anything."""
    here = view.device["device"].to_numpy() == ordinal
    communication = view.device["communication"].to_numpy()
    kernel = (view.device["kind"] == "kernel").to_numpy()

    def of(test: np.ndarray) -> Intervals:
        return view.device_intervals(np.flatnonzero(here & test))

    busy = {
        "compute": of(kernel & ~communication),
        "exposed_communication": of(communication),
        "exposed_copies": of(~kernel),
    }
    idle = subtract(view.span, of(np.ones(len(here), bool)))
    idle = idle[~_between_queued(view, np.flatnonzero(here), idle)]
    late = late_starts(view)
    idle = subtract(idle, late.waits(here[late.rows] & late.in_doubt))
    queued = intersect(idle, late.waits(here[late.rows] & ~late.in_doubt))
    claims = {**busy, "queued": queued, **_idle_claims(view, ordinal, subtract(idle, queued))}
    return Ledger(f"GPU {ordinal}", view.span, _peeled(view.span, claims, rest="unattributed"))


def _idle_claims(view: View, ordinal: int, idle: Intervals) -> dict[str, Intervals]:
    """What the host did while the device was idle, most specific cause first."""
    parts = [_claims(view, on_threads, part) for on_threads, part in by_threads(view, ordinal, idle)]
    return {row: np.concatenate([claims[row] for claims in parts]) for row in parts[0]}


def _claims(view: View, on_threads: np.ndarray, idle: Intervals) -> dict[str, Intervals]:
    """The same of idle time that these threads explain (a flag for each host event)."""

    def of(test: np.ndarray) -> Intervals:
        return intersect(idle, view.host_intervals(np.flatnonzero(test & on_threads)))

    work = of(among(view.kind, ("op", "runtime")))
    sync_calls = np.flatnonzero(is_sync_call(view) & on_threads)
    return {
        "input_wait": of(view.loader_next),
        "first_calls": intersect(idle, first_calls(view)[1]),
        "compilation": np.concatenate([of(view.name_matches(COMPILATION)), intersect(idle, _captures(view))]),
        "allocator": of(view.name_matches(ALLOCATOR_CALL) & _after_start_up(view)),
        "profiler": of((view.kind == "overhead") & ~view.name_matches(QUEUE_FULL)),
        "host_sync": np.concatenate(
            [of(is_sync_call(view)), intersect(after_sync(view, idle, sync_calls), work)]
        ),
        "launch_bound": intersect(work, idle[idle[:, 1] - idle[:, 0] <= LAUNCH_GAP_NS]),
        "host_work": work,
        # Without operators in the recording, nothing tells Python from dispatching.
        "python": subtract(idle, _queued(view))
        if (dispatching_threads(view) & (view.kind == "op")).any()
        else NO_INTERVALS,
    }


def _between_queued(view: View, rows: Rows, idle: Intervals) -> np.ndarray:
    """Which of these idle times are the device's own, from one of its events (``rows``) to
    the next, which had long been queued.
    """
    start, launch = view.device["start_ns"].to_numpy()[rows], view.device["launch"].to_numpy()[rows]
    following = np.searchsorted(start, idle[:, 1])
    known = following < len(rows)
    launch = launch[np.minimum(following, len(rows) - 1)]
    launched = np.append(view.host["start_ns"].to_numpy(), 0)[launch]
    return np.asarray(
        known & (launch >= 0) & (launched <= idle[:, 0] - QUEUED_NS) & (idle[:, 1] - idle[:, 0] <= TURN_NS)
    )


def turns_ms(view: View) -> float:
    """What the busiest device takes per step to get from each of its events to the next, if all are queued:
    it need not show in a recording in which the host is slow.
    """
    here = (view.device["device"].to_numpy() == view.devices[0]) & view.device_in_steps
    return float(np.count_nonzero(here)) * USUAL_TURN_NS / view.step_count / 1e6


def _queued(view: View) -> Intervals:
    """While device work was launched but had not started (launch latency, a wait for
    another stream): not the host's doing.
    """
    launch = view.device["launch"].to_numpy()
    linked = np.flatnonzero(launch >= 0)
    launched = view.host["start_ns"].to_numpy()[launch[linked]]
    return union(as_intervals(launched, view.device["start_ns"].to_numpy()[linked] - launched))


def is_sync_call(view: View) -> np.ndarray:
    """Which host events are runtime calls that block the host until the
    device is done, or is done with a copy.
    """
    blocking_copy = view.name_matches(COPY_CALL) & (view.host["dur_ns"].to_numpy() >= BLOCKING_COPY_NS)
    return (view.kind == "runtime") & (view.name_matches(SYNC_CALL) | blocking_copy)


def _captures(view: View) -> Intervals:
    """While a graph is captured (what is launched then is recorded, not run), or a compiled function
    records one.
    """
    start = view.host["start_ns"].to_numpy()
    begin, end = (
        np.sort(start[(view.kind == "runtime") & view.name_matches(name)])
        for name in (BEGIN_CAPTURE, END_CAPTURE)
    )
    closing = np.searchsorted(end, begin)
    closed = closing < len(end)
    captured = as_intervals(begin[closed], end[closing[closed]] - begin[closed])
    rows = np.flatnonzero(view.name_matches(COMPILED_CALL) & (view.kind == "op"))
    span = as_intervals(start[rows], view.host["dur_ns"].to_numpy()[rows])
    made = np.sort(start[(view.kind == "runtime") & view.name_matches(MAKES_GRAPH)])
    records = np.diff(np.searchsorted(made, span)).reshape(-1) > 0
    return union(np.concatenate([captured, span[records]]))


def _after_start_up(view: View) -> np.ndarray:
    """Which host events follow the first work of a device.

    A call before it may be creating the driver's context, which takes seconds.
    """
    return view.host["start_ns"].to_numpy() >= int(view.device["start_ns"].min())


def dispatching_threads(view: View) -> np.ndarray:
    """Which host events run on a thread that launches device work (the
    training thread and the autograd threads).
    """
    tid = view.host["tid"].to_numpy()
    launches = view.device["launch"].to_numpy()
    # by thread; the last is for training thread -1, which is none
    launching = np.zeros(int(tid.max(initial=-1)) + 2, bool)
    launching[tid[launches[launches >= 0]]] = True
    launching[view.trace.training_thread] = True
    return launching[tid]


def by_threads(view: View, ordinal: int, idle: Intervals) -> list[tuple[np.ndarray, Intervals]]:
    """The device's idle time in parts, each with the host events that can explain it (a flag for each): those
    of the thread that launches what the device runs next; of the training thread and its autograd threads
    too, which wait for each other and for that thread. Where the launch is not known, of all threads that
    launch.
    """
    tid, launch = view.host["tid"].to_numpy(), view.device["launch"].to_numpy()
    here = np.flatnonzero(view.device["device"].to_numpy() == ordinal)
    feeding, main = np.unique(tid[launch[here[launch[here] >= 0]]]), view.trace.training_thread
    training = np.intersect1d(feeding, tid[view.host["backward"].to_numpy()])
    feeds_others = (tid[launch[launch >= 0]] == main).any() and main not in feeding
    if main >= 0 and not feeds_others:
        training = np.append(training, main)
    launching = np.append(np.append(tid, -1)[launch[here]], main if main in training else -1)
    launching = launching[np.searchsorted(view.device["start_ns"].to_numpy()[here], idle[:, 1])]
    launching[np.isin(launching, training)] = training.max(initial=-1)
    return [
        (
            np.isin(tid, [*training.tolist(), thread]) if thread >= 0 else dispatching_threads(view),
            idle[launching == thread],
        )
        for thread in np.unique(launching).tolist() or [-1]
    ]


def after_sync(view: View, idle: Intervals, sync_calls: np.ndarray) -> Intervals:
    """From the end of each sync call that left the device drained to the next device event, as
    long as refilling the queue may take.
    """
    if not len(idle) or not len(sync_calls):
        return NO_INTERVALS
    end = view.host["start_ns"].to_numpy()[sync_calls] + view.host["dur_ns"].to_numpy()[sync_calls]
    gap = np.searchsorted(idle[:, 0], end, side="right") - 1
    drained = (gap >= 0) & (end < idle[np.maximum(gap, 0), 1])
    tails = as_intervals(end[drained], np.minimum(idle[gap[drained], 1] - end[drained], LAUNCH_GAP_NS))
    return intersect(union(tails), idle)
