"""The slow steps of a watched run by their cause, and whether they come back."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from diagnose.watched.log import Line, SlowStep, WatchLog

MOSTLY = 0.5  # of what a slow step takes more
_EXCLUSIVE = 1.5  # a line seen for at most so many times as long as the slow steps took is theirs alone
_PERIODS = 0.7  # of the distances that are whole periods
_AT_LEAST = 4  # slow steps, to say that they come back

Kind = Literal["input", "garbage", "line", "unknown"]

# by kind and line: a step, the seconds lost to it and to those it stands for, how many these are
_Steps = dict[tuple[Kind, Line | None], list[tuple[SlowStep, float, float]]]


@dataclass(frozen=True)
class SlowKind:
    """``lost_s``: of the run, beyond usual steps; ``every``: steps from one to the next, None if they do not
    come back regularly; ``worst``: the slowest.
    """

    kind: Kind
    line: Line | None
    count: int
    lost_s: float
    every: int | None
    worst: SlowStep


def slow_kinds(log: WatchLog) -> list[SlowKind]:
    """Those that cost most first. Of windows with many slow steps the worst stand for all."""
    exclusive = _Exclusive(log)
    steps: _Steps = defaultdict(list)
    for window in log.windows:
        extra = [max(0.0, step.ms - window.median_ms) for step in window.slow]
        told_ms = sum(extra)
        for step, more_ms in zip(window.slow, extra, strict=True):
            if more_ms:
                kind = _kind(step, more_ms)
                line = exclusive.line_of(step) if kind in ("line", "input") else None
                share = more_ms / told_ms
                key: tuple[Kind, Line | None] = ("unknown" if kind == "line" and line is None else kind, line)
                steps[key].append((step, window.lost_ms * share / 1000, window.slow_count / len(window.slow)))
    _name_by_period(steps)
    found = [
        SlowKind(
            kind,
            line,
            round(sum(stands_for for _, _, stands_for in some)),
            sum(lost_s for _, lost_s, _ in some),
            _every([step.step for step, _, _ in some]),
            max((step for step, _, _ in some), key=lambda step: step.ms),
        )
        for (kind, line), some in steps.items()
    ]
    return sorted(found, key=lambda kind: -kind.lost_s)


def _name_by_period(steps: _Steps) -> None:
    """Those that nobody saw, but that come as often as others of one line, are theirs: looks are seldom."""
    unseen = steps.get(("unknown", None), [])
    every = _every([step.step for step, _, _ in unseen])
    for key, some in steps.items():
        seen_every = _every([step.step for step, _, _ in some]) if key[0] == "line" else None
        if every and seen_every and seen_every % every == 0:  # of every third that is seen, say
            some += steps.pop(("unknown", None))
            some.sort(key=lambda told: told[0].step)
            return


def _kind(step: SlowStep, more_ms: float) -> Kind:
    if step.gc_ms >= MOSTLY * more_ms:
        return "garbage"
    return "input" if step.input_ms >= MOSTLY * more_ms else "line"


def _every(steps: list[int]) -> int | None:
    """The commonest distance, if most are a multiple of it."""
    distances = [later - earlier for earlier, later in pairwise(sorted(set(steps)))]
    if len(distances) < _AT_LEAST - 1:
        return None
    period, _ = Counter(distances).most_common(1)[0]
    whole = sum(distance % period == 0 for distance in distances)
    return period if period > 1 and whole >= _PERIODS * len(distances) else None


class _Exclusive:
    """Which line of a slow step's stack is its own: usual steps do not come there."""

    def __init__(self, log: WatchLog) -> None:
        self._log = log
        self._looked_at_s: dict[Line, float] = defaultdict(float)
        self._slow_s: dict[Line, float] = defaultdict(float)
        all_s = seen_s = 0.0  # of slow steps, and of those that were looked at
        for window in log.windows:
            looks = sum(count for _, count in window.lines)
            for stack, count in window.lines:
                for line in set(log.lines(stack)):
                    self._looked_at_s[line] += window.s * count / looks
            stands_for = window.slow_count / len(window.slow) if window.slow else 0.0
            for step in window.slow:
                lines, slow_s = log.lines(step.stack), step.ms * stands_for / 1000
                all_s += slow_s
                seen_s += slow_s if lines else 0.0
                for line in set(lines):
                    self._slow_s[line] += slow_s
        self._of_seen = all_s / seen_s if seen_s else 1.0

    def line_of(self, step: SlowStep) -> Line | None:
        """The outermost that only slow steps come to, else the innermost."""
        lines, most = self._log.lines(step.stack), _EXCLUSIVE * self._of_seen
        own = [line for line in lines if self._looked_at_s[line] <= most * self._slow_s[line]]
        return own[0] if own else lines[-1] if lines else None
