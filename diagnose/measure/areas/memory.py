"""Memory: of the GPU and of the process."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from diagnose.measure.areas.user_code import places_of
from diagnose.measure.ledger import ALLOCATOR_CALL
from diagnose.measure.measured import FactPlace, Measured, Value, fact_selector, metric
from diagnose.measure.memory_peak import MemoryPeak, Part
from diagnose.measure.missing import NO_FACTS, NO_GPU, NO_STEPS, Missing, known
from diagnose.measure.selection import Selection, ledger_row, selector
from diagnose.measure.view import Rows, category_matches, lies_in

MIN_SAMPLES = 15  # five for each third of the series
MIN_STEPS = 100  # fewer may still fill caches and buffers
ENOUGH = f"--plain-steps {2 * MIN_STEPS}"  # memory is read after some of them only
# of a tensor: what is appended then is a number
NUMBER = r"^<built-in method (item|tolist) of "
APPEND = (
    r"^<(method 'append' of 'list'|built-in method append of list|method 'extend' of 'list'|built-in "
    r"method extend of list) object"
)


@selector(
    "allocator_calls",
    "runtime calls that request memory from the driver or return it",
    needs="device",
    attributed=ledger_row("allocator"),
)
def _allocator_calls(view: Selection) -> Rows:
    return view.named((view.kind == "runtime") & view.name_matches(ALLOCATOR_CALL))


def _gpu_memory(measured: Measured, key: str) -> float | Missing:
    """A number of facts.json's *cuda_memory*."""
    memory = measured.fact("cuda_memory", NO_GPU)
    if isinstance(memory, Missing):
        return memory
    value = memory.get(key)
    return Missing("the allocator's statistics were not recorded") if value is None else float(value)


def _ratio(measured: Measured, part: str, whole: str) -> Value | Missing:
    above, below = known(_gpu_memory(measured, part)), known(_gpu_memory(measured, whole))
    return above / below if below else Missing("torch used no GPU memory")


@metric("gpu_memory_peak_share", "share", "Share of the GPU's memory that tensors filled at the peak")
def _gpu_memory_peak_share(measured: Measured) -> Value | Missing:
    return _ratio(measured, "peak_allocated_bytes", "capacity_bytes")


@metric(
    "gpu_memory_reserved_share", "share", "Share of the GPU's memory that torch's allocator held at the peak"
)
def _gpu_memory_reserved_share(measured: Measured) -> Value | Missing:
    return _ratio(measured, "peak_reserved_bytes", "capacity_bytes")


@metric("reserved_per_allocated", "", "Peak memory held by torch's allocator ÷ peak memory of tensors")
def _reserved_per_allocated(measured: Measured) -> Value | Missing:
    return _ratio(measured, "peak_reserved_bytes", "peak_allocated_bytes")


@metric(
    "out_of_memory_count",
    "count",
    "Times that GPU memory ran out, or that the script ended for lack of memory",
)
def _out_of_memory_count(measured: Measured) -> Value | Missing:
    """The plain phase knows of its own time, the facts of all the time until they were written."""
    facts = measured.recording.facts
    in_plain_phase = _gpu_memory(measured, "out_of_memory_count")
    counts = [facts.get("out_of_memory_count"), 1 if facts.get("memory_error") else None]
    counts += [] if isinstance(in_plain_phase, Missing) else [in_plain_phase]
    return (
        int(max(known_ones))
        if (known_ones := [count for count in counts if count is not None])
        else known(in_plain_phase)
    )


@metric("memory_error", "", "Which memory ran out when the script ended, and in which step")
def _memory_error(measured: Measured) -> Value | Missing:
    error = measured.recording.facts.get("memory_error")
    if not error:
        return Missing("the script did not end for lack of memory") if measured.recording.facts else NO_FACTS
    whose = "GPU" if error["device"] == "cuda" else "machine"
    ticks = error["tick_count"]
    when = (
        "after the recorded steps"
        if ticks is None
        else f"in step {ticks // measured.recording.ticks_per_step + 1}"
    )
    return f"the {whose}'s memory, {when}"


def _filled_by(measured: Measured) -> tuple[Part, MemoryPeak] | Missing:
    """What fills most of the fullest device's memory, among tensors."""
    peaks = measured.memory.peaks if measured.memory else []
    filled_by = peaks[0].filled_by if peaks else None
    return (filled_by, peaks[0]) if filled_by else Missing("what fills memory was not seen")


@metric("memory_filled_by", "", "What most of the memory in tensors is for, at the peak or when it ran out")
def _memory_filled_by(measured: Measured) -> Value | Missing:
    return known(_filled_by(measured))[0].part


@metric("memory_filled_bytes", "bytes", "How much of the memory in tensors is for that")
def _memory_filled_bytes(measured: Measured) -> Value | Missing:
    return known(_filled_by(measured))[0].bytes


@metric("memory_tensor_bytes", "bytes", "All memory in tensors, at the peak or when it ran out")
def _memory_tensor_bytes(measured: Measured) -> Value | Missing:
    return known(_filled_by(measured))[1].tensors


@fact_selector("memory_errors", "the line at which memory ran out, else the calls of the model")
def _memory_errors(measured: Measured) -> list[FactPlace] | Missing:
    error, view = measured.recording.facts.get("memory_error"), measured.timeline
    if error:
        return [FactPlace(error["file"], error["line"], error["function"], 0.0, None)]
    return places_of(view, view.named(view.marked("forward"))) if view is not None else NO_STEPS


@metric(
    "allocator_retry_count_per_step",
    "count",
    "Times per step that the allocator returned its cache and asked the driver again",
)
def _allocator_retries(measured: Measured) -> Value | Missing:
    return _gpu_memory(measured, "retries_per_step")


# ---- growth


@metric("memory_growth_bytes", "bytes", "Growth of memory per step, in the slowest third of the plain phase")
def _memory_growth_bytes(measured: Measured) -> Value | Missing:
    """Of the GPU's tensors where there are any, else of the heap. A leak grows in every
    third; a warm-up or one jump does not.

    Not of the resident memory: kept numbers of 4 bytes that lie in freed blocks of megabytes
    make that grow as fast as a leak does.
    """
    facts = measured.recording.facts
    if not facts:
        return NO_FACTS
    series = facts.get("allocated_series_bytes") or facts.get("heap_series_bytes")
    if series is None:
        return Missing("the memory in use was not recorded")
    if len(series) < MIN_SAMPLES:
        return Missing(f"memory was read in fewer than {MIN_SAMPLES} plain steps", ENOUGH)
    steps = measured.recording.memory_steps(len(series))
    if steps[-1] < MIN_STEPS:
        return Missing(f"memory was read in fewer than {MIN_STEPS} plain steps", ENOUGH)
    return steady_growth(series, steps)


def steady_growth(series: Sequence[float], steps: Sequence[int] | np.ndarray) -> float:
    """The slope of the third that grows least; never negative.

    ``steps``: the step after which each number was read, rising.
    """
    thirds = zip(
        np.array_split(np.asarray(series, float), 3), np.array_split(np.asarray(steps), 3), strict=True
    )
    return max(0.0, min(_median_slope(values, at) for values, at in thirds))


def _median_slope(values: np.ndarray, at: np.ndarray) -> float:
    """Theil and Sen's: the median of the slopes between all pairs, which few outliers cannot move."""
    first, last = np.triu_indices(len(values), 1)
    return float(np.median((values[last] - values[first]) / (at[last] - at[first])))


@fact_selector(
    "kept_each_step",
    "the lines whose tensors stay after their step, where that was seen; else lines outside the model that "
    "append to a list, and not a number just read",
)
def _kept_each_step(measured: Measured) -> list[FactPlace] | Missing:
    if measured.memory is not None and (lines := measured.memory.kept()):
        return [FactPlace(line.file, line.line, line.function, line.count, None) for line in lines]
    view = measured.detail
    if view is None:
        return NO_STEPS
    calls = view.calls.iloc[_appended(view)]
    lines_of_calls = calls.groupby(["file", "line", "function"], observed=True, sort=False).size()
    counted = lines_of_calls.sort_values(ascending=False, kind="stable").reset_index()
    return [
        FactPlace(str(file), int(line), str(name), count / view.step_count, None)
        for file, line, name, count in counted.to_numpy()
    ]


def _appended(view: Selection) -> Rows:
    inside_model = view.host_intervals(view.named(view.marked("forward", "backward", "optimizer", "next")))
    appended = category_matches(view.calls["callee"].array, APPEND) & view.calls_in_steps
    outside = ~lies_in(view.calls["start_ns"].to_numpy(), inside_model)
    return np.flatnonzero(appended & outside & ~_after_a_read(view))


def _after_a_read(view: Selection) -> np.ndarray:
    """Which calls come right after one on the same line that reads a number: `losses.append(x.item())`."""
    reads = category_matches(view.calls["callee"].array, NUMBER)
    place = view.calls.groupby(["file", "line"], observed=True).ngroup().to_numpy()
    before = np.zeros(len(reads), bool)
    order = np.argsort(view.calls["start_ns"].to_numpy(), kind="stable")
    before[order[1:]] = reads[order[:-1]] & (place[order[1:]] == place[order[:-1]])
    return before
