"""What a result document tells of a whole run that was watched."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct


def _is(description: str) -> Meta:
    return Meta(description=description)


class WatchLine(Struct, kw_only=True):
    """A line of the user's own."""

    file: Annotated[str, _is("Relative to the script's working directory where it lies below it.")]
    line: Annotated[int, _is("From 1 on.")]
    function: Annotated[str, _is("The function it is in.")]
    source: Annotated[str, _is("Its text; empty if the file is not at hand.")]
    called: Annotated[str, _is("What it calls, as `torch/serialization.py: save`; empty if nothing.")]


class WatchCause(Struct, kw_only=True):
    """Why steps take longer. Causes may lie in each other, so they do not add up."""

    kind: Annotated[
        Literal["input", "garbage", "no_core", "threads", "clocks", "line"],
        _is(
            "input: waiting for batches; garbage: Python's garbage collector; no_core: other programs use "
            "the cores; threads: torch computes with fewer; clocks: the GPU runs slower; line: a line takes "
            "longer."
        ),
    ]
    ms: Annotated[float, _is("That a step takes more by it; of clocks at most.")]
    line: Annotated[WatchLine | None, _is("Where; null if no line is known.")] = None
    before: Annotated[float | None, _is("Threads, cores that others used, or MHz, before.")] = None
    after: Annotated[float | None, _is("The same afterwards.")] = None
    told: Annotated[str, _is("Why the GPU was slowed, as NVML names it; empty if not known.")] = ""
    waits: Annotated[
        bool,
        _is(
            "Of a line: its thread waits there, for other ranks, the GPU, a file or a timer, and computes "
            "no longer; false also where that is not known."
        ),
    ] = False


class WatchLevel(Struct, kw_only=True):
    """Steps that took about the same time."""

    first: Annotated[int, _is("The number of its first step.")]
    steps: Annotated[int, _is("How many there are.")]
    at_s: Annotated[float, _is("Seconds from the begin of the watch.")]
    s: Annotated[float, _is("How long it lasts, seconds.")]
    typical_ms: Annotated[float, _is("The median step.")]
    mean_ms: Annotated[float, _is("The average step.")]
    lost_share: Annotated[float, _is("Of its time, 0–1: what slow steps took beyond a usual one.")]
    causes: Annotated[
        list[WatchCause], _is("Why its steps take longer than those before; empty if they do not.")
    ] = []


class SlowSteps(Struct, kw_only=True):
    """Steps that took half as long again as usual, or longer, for one cause."""

    kind: Annotated[Literal["input", "garbage", "line", "unknown"], _is("As of a cause.")]
    line: Annotated[WatchLine | None, _is("Where; null if no line is known.")]
    count: Annotated[int, _is("About how many there were.")]
    lost_s: Annotated[float, _is("Seconds beyond usual steps, all together.")]
    every: Annotated[int | None, _is("Steps from one to the next; null if not regular.")]
    worst_step: Annotated[int, _is("The number of the slowest.")]
    worst_ms: Annotated[float, _is("How long that took.")]


class WatchSnap(Struct, kw_only=True):
    """A recording in the midst of the run."""

    number: Annotated[int, _is("Its folder is snap-<number> in the run's.")]
    first: Annotated[int, _is("The step before which it began.")]
    reason: Annotated[str, _is("Why it was made.")]
    changed: Annotated[
        list[str], _is("What takes longer or shorter than at the begin of the run, beyond noise.")
    ] = []


class WatchCurve(Struct, kw_only=True):
    """Parallel lists over the run."""

    at_s: Annotated[list[float], _is("Seconds from the begin of the watch.")]
    first: Annotated[list[int], _is("The number of the first step there.")]
    median_ms: Annotated[list[float], _is("The median step.")]
    mean_ms: Annotated[list[float], _is("The average step.")]
    input_ms: Annotated[list[float], _is("Of that, waiting for batches.")]
    end_s: Annotated[float, _is("Seconds from the begin of the watch to its end.")]
    memory_bytes: Annotated[list[int], _is("Allocated on the GPU, else in use on the heap, else resident.")]


class WatchRank(Struct, kw_only=True):
    """Another rank of the run."""

    rank: Annotated[int, _is("Its number.")]
    slower_at_s: Annotated[float | None, _is("When its steps first became slower, seconds; null: never.")]
    own_ms: Annotated[float, _is("That a step takes more by its own computing and input since then.")]


class Watched(Struct, kw_only=True):
    """The run from the end of the recording on."""

    rank: Annotated[int, _is("The rank told of: the one whose own work grew most, else the lowest.")]
    first: Annotated[int, _is("The number of the first step that was watched.")]
    steps: Annotated[int, _is("How many were.")]
    s: Annotated[float, _is("Seconds that they took.")]
    lost_share: Annotated[float, _is("Of that, 0–1: what slow steps took beyond usual ones.")]
    levels: Annotated[list[WatchLevel], _is("In order.")]
    slow: Annotated[list[SlowSteps], _is("Slow steps by cause, costliest first.")]
    snaps: Annotated[list[WatchSnap], _is("Recordings in the midst.")]
    curve: Annotated[WatchCurve, _is("How long steps took over the run.")]
    memory_growth_bytes: Annotated[
        int | None, _is("By how much memory grew, from quarter to quarter of the run; null if it did not.")
    ] = None
    ranks: Annotated[list[WatchRank], _is("All ranks; empty for one.")] = []
    damaged: Annotated[bool, _is("The end of what was written could not be read.")] = False
