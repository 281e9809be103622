"""The levels of speed of a watched run, and what a step of one takes more than one of the level before."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from diagnose.run.child.watching.changes import division
from diagnose.watched.log import Change, Line, WatchLog, Window

NEAR_S = 45.0  # two changes as near as this are one, seen in the typical and in the average step
PART = 0.25  # of what a step takes more: causes from this on are told
MOSTLY = 0.6  # of what all lines take more: the innermost line with as much is the one
CORES = 0.5  # that others use more
SIDE = 8  # windows before and after a change that nobody noticed as the script ran

Kind = Literal["input", "garbage", "no_core", "threads", "clocks", "line"]


@dataclass(frozen=True)
class Cause:
    """``ms``: that a step takes more by it; causes may lie in each other. ``line``: where, if known.
    ``before``, ``after``: of ``threads`` how many; of ``no_core`` the cores that other programs used; of
    ``clocks`` the GPU's MHz, and ``told`` why it was slowed, if that is known. ``waits``: a line's thread.
    """

    kind: Kind
    ms: float
    line: Line | None = None
    before: float | None = None
    after: float | None = None
    told: str = ""
    waits: bool = False


@dataclass(frozen=True)
class Level:
    """Neighbouring windows; at least one."""

    windows: list[Window]

    @property
    def first(self) -> int:
        return self.windows[0].first

    @property
    def steps(self) -> int:
        return sum(window.steps for window in self.windows)

    @property
    def seconds(self) -> float:
        return sum(window.s for window in self.windows)

    @property
    def mean_ms(self) -> float:
        return 1000 * self.seconds / self.steps

    @property
    def typical_ms(self) -> float:
        """The median of the windows' medians, by steps."""
        ordered = sorted(self.windows, key=lambda window: window.median_ms)
        half, passed = self.steps / 2, 0
        for window in ordered:
            passed += window.steps
            if passed >= half:
                return window.median_ms
        return ordered[-1].median_ms

    @property
    def lost_share(self) -> float:
        """Of its time, 0–1: what slow steps took beyond a usual one."""
        return min(1.0, sum(window.lost_ms for window in self.windows) / 1000 / self.seconds)

    def average(self, name: str, *, by: str = "steps") -> float | None:
        """Of one of the windows' numbers, weighted by steps or by ``s``; None where none knows it."""
        known = [window for window in self.windows if getattr(window, name) is not None]
        weight = sum(getattr(window, by) for window in known)
        if not weight:
            return None
        return sum(getattr(window, name) * getattr(window, by) for window in known) / weight

    def line_ms(self, log: WatchLog) -> dict[Line, tuple[float, int]]:
        """ms of a step in which each line was on the stack, and how deep it lay at most. A line counts once
        with what it calls and once, as the sum, without.
        """
        seconds: dict[Line, float] = defaultdict(float)
        depth: dict[Line, int] = {}
        for window in self.windows:
            looks = sum(count for _, count in window.lines)
            for stack, count in window.lines:
                whole = {line._replace(called="") for line in log.lines(stack)}
                for at, line in enumerate(log.lines(stack)):
                    depth[line] = max(depth.get(line, 0), 2 * at + bool(line.called))
                    depth[line._replace(called="")] = max(depth.get(line._replace(called=""), 0), 2 * at)
                for line in {*log.lines(stack), *whole}:
                    seconds[line] += window.s * count / looks
        return {line: (1000 * took / self.steps, depth[line]) for line, took in seconds.items()}


def levels(log: WatchLog) -> list[Level]:
    """At least one, in order."""
    borders: list[Change] = []
    for change in sorted(log.changes, key=lambda change: (change.at_s, change.of != "typical")):
        near = [known for known in borders if abs(known.at_s - change.at_s) < NEAR_S]
        if not near:
            borders.append(change)
        elif change.of == "typical" and near[-1].of == "average":
            borders[borders.index(near[-1])] = change
    begins = [0.0, *(change.at_s for change in borders), float("inf")]
    parts = [
        [window for window in log.windows if begin <= window.at_s < end] for begin, end in pairwise(begins)
    ]
    return [Level(windows) for part in parts for windows in _divided(part) if windows]


def _divided(windows: list[Window]) -> list[list[Window]]:
    """Where a change came too soon, or too late, to be noticed as the script ran."""
    at = division([math.log(window.median_ms) for window in windows if window.median_ms > 0], SIDE)
    return [windows] if at is None else [windows[:at], windows[at:]]


def causes(before: Level, after: Level, log: WatchLog) -> list[Cause]:
    """Why a step of ``after`` takes longer: what happened, largest first, then where; empty where it does
    not, or nothing tells.
    """
    more_ms = after.mean_ms - before.mean_ms
    if more_ms <= 0:
        return []
    named: tuple[tuple[Kind, str], ...] = (("input", "input_ms"), ("garbage", "gc_ms"))
    found = [Cause(kind, ms) for kind, name in named if (ms := _more(before, after, name)) >= PART * more_ms]
    found += _of_cores(before, after, more_ms)
    line = _line(before, after, log)
    if line is not None:
        found.append(Cause("line", line[1], line[0], waits=_waits(before, after, more_ms)))
    return sorted(found, key=lambda cause: (cause.kind == "line", cause.kind != "threads", -cause.ms))


def _more(before: Level, after: Level, name: str) -> float:
    earlier, later = before.average(name), after.average(name)
    return later - earlier if earlier is not None and later is not None else 0.0


def _waits(before: Level, after: Level, more_ms: float) -> bool:
    """Whether the thread neither computes longer nor lacks a core."""
    if before.average("run_ms") is None or after.average("run_ms") is None:
        return False
    return _more(before, after, "run_ms") + _more(before, after, "delay_ms") < PART * more_ms


def _of_cores(before: Level, after: Level, more_ms: float) -> list[Cause]:
    """Fewer threads of the script's own, or cores that others have taken."""
    counts = [level.windows[len(level.windows) // 2].threads for level in (before, after)]
    if counts[1] < counts[0]:
        return [Cause("threads", more_ms, before=counts[0], after=counts[1])]
    others = [level.average("others_cores", by="s") for level in (before, after)]
    delayed_ms = _more(before, after, "delay_ms")
    if others[0] is None or others[1] is None:
        return []
    if others[1] - others[0] >= CORES or delayed_ms >= PART * more_ms:
        return [Cause("no_core", delayed_ms, before=others[0], after=others[1])]
    return []


def _line(before: Level, after: Level, log: WatchLog) -> tuple[Line, float] | None:
    """The innermost line that has most of what lines take more, and how much that is; None where no line has.

    Steps in which all lines take longer alike have none.
    """
    earlier, later = before.line_ms(log), after.line_ms(log)
    more_ms = after.mean_ms - before.mean_ms
    grown = {
        line: (ms - earlier.get(line, (0.0, 0))[0], depth)
        for line, (ms, depth) in later.items()
        if ms - earlier.get(line, (0.0, 0))[0] >= MOSTLY * more_ms
    }
    if not grown:
        return None
    line = max(grown, key=lambda line: (grown[line][1], grown[line][0]))
    ratio = after.mean_ms / before.mean_ms
    known_ms = earlier.get(line, (0.0, 0))[0]
    alike = known_ms * (ratio - 1)  # what it would take more if all lines did
    if grown[line][0] < 1.5 * alike and known_ms > 0.5 * before.mean_ms:
        return None
    return line, grown[line][0]
