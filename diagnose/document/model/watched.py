"""What a result document tells of a whole run that was watched."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from diagnose.document.model.described import described


class WatchLine(Struct, kw_only=True):
    """A line of the user's own."""

    file: Annotated[str, described("Relative to the script's working directory where it lies below it.")]
    line: Annotated[int, described("From 1 on.")]
    function: Annotated[str, described("The function it is in.")]
    source: Annotated[str, described("Its text; empty if the file is not at hand.")]
    called: Annotated[str, described("What it calls, as `torch/serialization.py: save`; empty if nothing.")]


class WatchCause(Struct, kw_only=True):
    """Why steps take longer. Causes may lie in each other, so they do not add up."""

    kind: Annotated[
        Literal["input", "garbage", "no_core", "threads", "clocks", "line"],
        described(
            "input: waiting for batches; garbage: Python's garbage collector; no_core: other programs use "
            "the cores; threads: torch computes with fewer; clocks: the GPU runs slower; line: a line takes "
            "longer."
        ),
    ]
    ms: Annotated[float, described("That a step takes more by it; of clocks at most.")]
    line: Annotated[WatchLine | None, described("Where; null if no line is known.")] = None
    before: Annotated[float | None, described("Threads, cores that others used, or MHz, before.")] = None
    after: Annotated[float | None, described("The same afterwards.")] = None
    told: Annotated[str, described("Why the GPU was slowed, as NVML names it; empty if not known.")] = ""
    waits: Annotated[
        bool,
        described(
            "Of a line: its thread waits there, for other ranks, the GPU, a file or a timer, and computes "
            "no longer; false also where that is not known."
        ),
    ] = False


class WatchLevel(Struct, kw_only=True):
    """Steps that took about the same time."""

    first: Annotated[int, described("The number of its first step.")]
    steps: Annotated[int, described("How many there are.")]
    at_s: Annotated[float, described("Seconds from the begin of the watch.")]
    s: Annotated[float, described("How long it lasts, seconds.")]
    typical_ms: Annotated[float, described("The median step.")]
    mean_ms: Annotated[float, described("The average step.")]
    lost_share: Annotated[float, described("Of its time, 0–1: what slow steps took beyond a usual one.")]
    causes: Annotated[
        list[WatchCause], described("Why its steps take longer than those before; empty if they do not.")
    ] = []


class SlowSteps(Struct, kw_only=True):
    """Steps that took half as long again as usual, or longer, for one cause."""

    kind: Annotated[Literal["input", "garbage", "line", "unknown"], described("As of a cause.")]
    line: Annotated[WatchLine | None, described("Where; null if no line is known.")]
    count: Annotated[int, described("About how many there were.")]
    lost_s: Annotated[float, described("Seconds beyond usual steps, all together.")]
    every: Annotated[int | None, described("Steps from one to the next; null if not regular.")]
    worst_step: Annotated[int, described("The number of the slowest.")]
    worst_ms: Annotated[float, described("How long that took.")]


class WatchSnap(Struct, kw_only=True):
    """A recording in the midst of the run."""

    number: Annotated[int, described("Its folder is snap-<number> in the run's.")]
    first: Annotated[int, described("The step before which it began.")]
    reason: Annotated[str, described("Why it was made.")]
    changed: Annotated[
        list[str], described("What takes longer or shorter than at the begin of the run, beyond noise.")
    ] = []


class WatchCurve(Struct, kw_only=True):
    """Parallel lists over the run."""

    at_s: Annotated[list[float], described("Seconds from the begin of the watch.")]
    first: Annotated[list[int], described("The number of the first step there.")]
    median_ms: Annotated[list[float], described("The median step.")]
    mean_ms: Annotated[list[float], described("The average step.")]
    input_ms: Annotated[list[float], described("Of that, waiting for batches.")]
    end_s: Annotated[float, described("Seconds from the begin of the watch to its end.")]
    memory_bytes: Annotated[
        list[int], described("Allocated on the GPU, else in use on the heap, else resident.")
    ]


class WatchRank(Struct, kw_only=True):
    """Another rank of the run."""

    rank: Annotated[int, described("Its number.")]
    slower_at_s: Annotated[
        float | None, described("When its steps first became slower, seconds; null: never.")
    ]
    own_ms: Annotated[float, described("That a step takes more by its own computing and input since then.")]


class Watched(Struct, kw_only=True):
    """The run from the end of the recording on."""

    rank: Annotated[int, described("The rank told of: the one whose own work grew most, else the lowest.")]
    first: Annotated[int, described("The number of the first step that was watched.")]
    steps: Annotated[int, described("How many were.")]
    s: Annotated[float, described("Seconds that they took.")]
    lost_share: Annotated[float, described("Of that, 0–1: what slow steps took beyond usual ones.")]
    levels: Annotated[list[WatchLevel], described("In order.")]
    slow: Annotated[list[SlowSteps], described("Slow steps by cause, costliest first.")]
    snaps: Annotated[list[WatchSnap], described("Recordings in the midst.")]
    curve: Annotated[WatchCurve, described("How long steps took over the run.")]
    memory_growth_bytes: Annotated[
        int | None,
        described("By how much memory grew, from quarter to quarter of the run; null if it did not."),
    ] = None
    ranks: Annotated[list[WatchRank], described("All ranks; empty for one.")] = []
    damaged: Annotated[bool, described("The end of what was written could not be read.")] = False
