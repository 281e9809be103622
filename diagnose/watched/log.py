"""watch.jsonl of a rank, read: windows, stacks, changes, recordings (docs/architecture.md, *watch.jsonl*)."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct

from diagnose.run.child.watching.windows import FILE, WINDOWS_AT_MOST

_LINES_AT_MOST = 4 * WINDOWS_AT_MOST
_BYTES_AT_MOST = 100_000_000
_Count = Annotated[int, Meta(ge=0, le=10**15)]
_Number = Annotated[float, Meta(ge=0, le=1e15)]


class Line(NamedTuple):
    """A line of the user's own, and what it calls, empty for nothing."""

    file: str
    line: int
    function: str
    called: str


class SlowStep(NamedTuple):
    """``at_s``: since the watch began; ``stack``: where it was seen most, -1 if it was not seen."""

    step: int
    at_s: float
    ms: float
    input_ms: float
    gc_ms: float
    stack: int


class Window(Struct):
    """Some seconds of the run: ms a step, cores in use, bytes at its end; ``lines``: how often which stack
    was seen. None where the system does not tell.
    """

    first: _Count
    steps: Annotated[int, Meta(ge=1, le=10**15)]
    at_s: _Number
    s: Annotated[float, Meta(gt=0, le=1e15)]
    least_ms: _Number
    median_ms: _Number
    p90_ms: _Number
    most_ms: _Number
    input_ms: _Number
    gc_ms: _Number
    run_ms: float | None
    delay_ms: float | None
    cores: float | None
    others_cores: float | None
    threads: int
    rss_bytes: int
    heap_bytes: int | None
    allocated_bytes: int | None
    lost_ms: _Number
    slow_count: _Count
    lines: list[tuple[int, Annotated[int, Meta(ge=1, le=10**9)]]]
    slow: list[SlowStep]
    samples: _Count | None = None

    @property
    def samples_per_s(self) -> float | None:
        return None if self.samples is None else self.samples / self.s

    @property
    def mean_ms(self) -> float:
        return 1000 * self.s / self.steps

    @property
    def input_share(self) -> float:
        return self.input_ms / self.mean_ms

    @property
    def lost_share(self) -> float:
        """Of the time: what slow steps took beyond usual ones."""
        return self.lost_ms / 1000 / self.s

    @property
    def memory_bytes(self) -> int:
        """Allocated on the GPU, else in use on the heap, else resident."""
        known = (self.allocated_bytes, self.heap_bytes)
        return next((held for held in known if held is not None), self.rss_bytes)


class Change(Struct):
    """Steps took longer, or shorter, from the step ``first`` on, ``at_s`` after the watch began. ``of``: the
    typical step or the average one.
    """

    of: Literal["typical", "average"]
    first: _Count
    at_s: _Number
    before_ms: _Number
    after_ms: _Number
    noticed: _Count
    noticed_at_s: _Number


class Snap(Struct):
    """A recording in the midst, begun before the step ``first``."""

    number: Annotated[int, Meta(ge=1, le=1000)]
    first: _Count
    reason: str


class _Head(Struct):
    schema: Literal[1]
    first_step: _Count
    began_at: _Number | None = None


class _Row(Struct):
    watch: _Head | None = None
    window: Window | None = None
    stack: list[Line] | None = None
    change: Change | None = None
    snap: Snap | None = None


@dataclass
class WatchLog:
    """``damaged``: the number of the first line that could not be read, and with it all that follow; 0 for
    none. A last line without an end is no damage: the process was killed.
    """

    rank: int
    began_at: float | None = None  # seconds since 1970
    windows: list[Window] = field(default_factory=list)
    stacks: list[list[Line]] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    snaps: list[Snap] = field(default_factory=list)
    damaged: int = 0

    @functools.cached_property
    def steps(self) -> int:
        return sum(window.steps for window in self.windows)

    @functools.cached_property
    def seconds(self) -> float:
        return sum(window.s for window in self.windows)

    def lines(self, stack: int) -> list[Line]:
        """Outermost first; empty if nothing is known of the stack."""
        return self.stacks[stack] if 0 <= stack < len(self.stacks) else []


def read_log(rank_folder: Path, rank: int) -> WatchLog | None:
    """None where the rank was not watched, or for no whole window."""
    log = WatchLog(rank)
    decode = msgspec.json.Decoder(_Row).decode
    for number, text in enumerate(_texts(rank_folder / FILE), 1):
        try:
            row = decode(text)
        except msgspec.MsgspecError:
            log.damaged = number
            break
        if row.watch is not None:
            log.began_at = row.watch.began_at
        if row.window is not None:
            log.windows.append(row.window)
        if row.stack is not None:
            log.stacks.append(row.stack)
        if row.change is not None:
            log.changes.append(row.change)
        if row.snap is not None:
            log.snaps.append(row.snap)
    return log if log.windows else None


def _texts(path: Path) -> Iterator[bytes]:
    """Whole lines, as many as there can be."""
    try:
        with path.open("rb") as file:
            left = _BYTES_AT_MOST
            for _ in range(_LINES_AT_MOST):
                text = file.readline(left)
                left -= len(text)
                if not text.endswith(b"\n"):
                    return
                yield text
    except OSError:
        return
