"""When each phase of the recording ends: counts and times only, no torch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

SECOND = 1_000_000_000

_SETTLED_STEPS = 3
_SETTLED_SPREAD = 1.5  # slowest of the last steps over the fastest
WARMUP_STEPS = 30
_SHORT_WARMUP_STEPS = 3
_UNTIMED_WARMUP_STEPS = 10
SOURCES_AT_MOST = 8  # of the ticks; with more a script makes new ones all the time
WARMUP_TICKS = 2 * WARMUP_STEPS  # to find the period in the sequence of several optimizers
_WARMUP_NS = 20 * SECOND
_PHASE_NS = 10 * SECOND
_PLAIN_STEPS_AT_LEAST = 5
_PLAIN_NS_AT_MOST = 30 * SECOND
_PARTS_STEPS_AT_LEAST = 3
_PARTS_NS = SECOND // 2
_LONGEST_PERIOD = 512
_PERIODS_IF_CUT = 5  # at least, of which one may be cut short
# recorded at once, while the script warms up: it may end before a proper recording
EARLY_STEPS = {"timeline": 2, "detail": 1}
# a step that takes longer is recorded with stacks only in its turn: that can take several times as long
LONGEST_EARLY_NS = 2 * SECOND
_USUAL_STEPS = 8
# plain steps: long enough to see twice what comes back every fifty steps of ten milliseconds
_PLAIN_NS, _BRIEF_PARTS_NS, _TIMELINE_NS, _DETAIL_NS = 1_200_000_000, 150_000_000, 200_000_000, 20_000_000
# plain steps, so many or for so long: what comes back every 25 steps is seen twice
_SEEN_STEPS, _SEEN_NS = 50, 4 * SECOND
# the first recording may wait for that tick where so many are promised and the first step took no longer
WAITED_TICKS, PROMISED_TICKS, WAITED_FOR_NS = 5, 20, 2 * SECOND
_UNKNOWN_LEFT = 7  # as many steps as a short round has where nobody knows how many are left
_FEWEST_LEFT = 5
_FIRST_LOOK = {"plain": 1, "timeline": 2, "detail": 1}  # of a script on a GPU that may end within a few steps
# steps until a short round on a GPU has two of timeline: three to warm up, three
# plain ones, one that does not count
_TO_SHORT_TIMELINE = 9
_GROWTH = 6  # times the steps of the round before, as long as the full one is twice that
_NEVER_NS = 1 << 62
_TO_SPARE = 5 / 3  # times as many steps as the other phases take are enough for them
_LONG = 3  # times the median step
# a standard deviation is 1.4826 median ones, a median's error 1.2533 of a mean's; both for normal noise
_ERROR_OF_MEDIAN = 1.4826 * 1.2533
_UNSURE, _UNSURE_NS = 0.05, 5 * SECOND
_WORTH = 0.08  # of the time: what recurring work has to take for a rule to name it


@dataclass(frozen=True)
class Budget:
    """A phase ends at `steps`, though not before `least_ns`; at `time_ns` once it has `at_least`
    steps; at `time_limit_ns` with one.

    `cold`: it begins before the script has warmed up.
    """

    steps: int
    at_least: int = 1
    time_ns: int = _PHASE_NS
    time_limit_ns: int = _PHASE_NS
    least_ns: int = 0
    cold: bool = False

    def used_up(self, steps: int, elapsed_ns: int) -> bool:
        if steps < 1:
            return False
        if (steps >= self.steps and elapsed_ns >= self.least_ns) or elapsed_ns >= self.time_limit_ns:
            return True
        return elapsed_ns >= self.time_ns and steps >= self.at_least

    def expected_steps(self, step_ns: int) -> int:
        """After how many steps the phase ends if each takes that long."""
        least, in_time, at_most = (
            _steps_in(ns, step_ns) for ns in (self.least_ns, self.time_ns, self.time_limit_ns)
        )
        return min(max(self.steps, least), at_most, max(self.at_least, in_time))


def _steps_in(time_ns: int, step_ns: int) -> int:
    return max(1, -(-time_ns // max(1, step_ns)))


Round = dict[str, Budget]  # a phase after the other, those with at least a step


def budgets(steps: int | None = None, plain_steps: int | None = None, *, timed: bool = True) -> Round:
    """The budget of every phase after the warm-up, scaled by the timeline's steps,
    except where `plain_steps` is given.

    Without a number of steps there are as many as usual, and short steps more often, so that one
    disturbed step is not a large part of them. Not `timed`: only steps count, which processes know that
    cannot ask each other how long theirs took.
    """
    in_timeline = steps or _USUAL_STEPS
    counts = {
        "plain": plain_steps or max(_PLAIN_STEPS_AT_LEAST, in_timeline * 5 // 2),
        "parts": in_timeline if not timed else 2 * in_timeline,
        "timeline": in_timeline,
        "detail": max(1, in_timeline // 4),
    }
    if not timed:
        return {name: Budget(count, count, _NEVER_NS, _NEVER_NS) for name, count in counts.items()}
    least_ns = (
        {"plain": _PLAIN_NS, "parts": _BRIEF_PARTS_NS, "timeline": _TIMELINE_NS, "detail": _DETAIL_NS}
        if steps is None
        else {}
    )
    if plain_steps:
        least_ns["plain"] = 0
    limits: dict[str, dict[str, Any]] = {
        "plain": {"at_least": _PLAIN_STEPS_AT_LEAST, "time_limit_ns": _PLAIN_NS_AT_MOST},
        "parts": {"at_least": _PARTS_STEPS_AT_LEAST, "time_ns": _PARTS_NS},
    }
    return {
        name: Budget(count, **limits.get(name, {}), least_ns=least_ns.get(name, 0))
        for name, count in counts.items()
    }


def paced(full: Round, step_ns: int) -> Round:
    """With plain steps for longer where each takes long, unless their number was given."""
    plain = full["plain"]
    if not plain.least_ns:
        return full
    least_ns = max(plain.least_ns, min(_SEEN_STEPS * step_ns, _SEEN_NS))
    return full | {"plain": replace(plain, least_ns=least_ns)}


_AFTER_PLAIN = [budget for name, budget in budgets().items() if name != "plain"]


def steps_after(step_ns: int) -> int:
    """Enough for all phases after the plain one."""
    return math.ceil(_TO_SPARE * sum(budget.expected_steps(step_ns) for budget in _AFTER_PLAIN))


def rounds(full: Round, steps_left: int | None, step_ns: int, *, unrecorded: bool = False) -> list[Round]:
    """Which phases to go through, one round after the other, while the script lives.

    `steps_left`: that many are still to come, or more; None if nobody knows. Where the full round may not
    fit, shorter ones come first. `unrecorded`: nothing was recorded at once. Where even the shortest round
    may not fit, a first look of a few cold steps comes before it.
    """
    steps = sum(budget.expected_steps(step_ns) for budget in full.values())
    if steps_left is not None and steps_left >= steps:
        return [full]
    sizes = [max(_FEWEST_LEFT, _UNKNOWN_LEFT if steps_left is None else steps_left)]
    while 2 * _GROWTH * sizes[-1] <= steps:
        sizes.append(_GROWTH * sizes[-1])
    shorter = [_short_round(full, size, step_ns) for size in sizes]
    if unrecorded and (steps_left is None or steps_left < _TO_SHORT_TIMELINE):
        counts = {name: min(count, full[name].steps) for name, count in _FIRST_LOOK.items()}
        shorter.insert(
            0, {name: replace(budget, cold=True) for name, budget in _shortened(full, counts).items()}
        )
    return [*shorter, full]


def with_detail(rounds: list[Round], steps: int) -> list[Round]:
    """The same with a detail of so many steps at most; without, if none."""
    return [
        {
            name: replace(budget, steps=min(steps, budget.steps)) if name == "detail" else budget
            for name, budget in phases.items()
            if steps or name != "detail"
        }
        for phases in rounds
    ]


def warm_up_steps(first: Round) -> int:
    """How many come before a round that is not the last one, settled or
    not: there may be no time for more.
    """
    return 1 if first["timeline"].cold else _SHORT_WARMUP_STEPS


def _short_round(full: Round, steps: int, step_ns: int) -> Round:
    """Of so many steps in all, unless a phase would have more than in the full round."""
    counts = {"parts": steps // 7, "timeline": max(2, steps // 5), "detail": steps // 7}
    counts = {name: min(count, full[name].steps) for name, count in counts.items()}
    plain = min(steps - sum(counts.values()), full["plain"].expected_steps(step_ns))
    return _shortened(full, counts | {"plain": plain})


def _shortened(full: Round, counts: dict[str, int]) -> Round:
    return {name: replace(full[name], steps=counts[name], least_ns=0) for name in full if counts.get(name)}


def settled(step_ns: Sequence[int], elapsed_ns: int, *, timed: bool = True) -> bool:
    """True when the warm-up may end: the last steps take about the same time, or the patience is
    used up; not `timed`: after some steps.
    """
    if not timed:
        return len(step_ns) >= _UNTIMED_WARMUP_STEPS
    if len(step_ns) < _SETTLED_STEPS:
        return bool(step_ns) and elapsed_ns >= _WARMUP_NS and step_ns[-1] <= _SETTLED_SPREAD * min(step_ns)
    last = step_ns[-_SETTLED_STEPS:]
    return (
        max(last) <= _SETTLED_SPREAD * min(last) or len(step_ns) >= WARMUP_STEPS or elapsed_ns >= _WARMUP_NS
    )


def is_unsure(step_ns: Sequence[int]) -> bool:
    """Whether what a step takes is not known to a twentieth, by twice the standard error of the median: fixes
    that gain less could not be told from noise. For five seconds at most.
    """
    median = sorted(step_ns)[len(step_ns) // 2]
    deviation = sorted(abs(ns - median) for ns in step_ns)[len(step_ns) // 2]
    error_ns = _ERROR_OF_MEDIAN * deviation / len(step_ns) ** 0.5
    return 2 * error_ns > _UNSURE * median and sum(step_ns) < _UNSURE_NS


def awaits_another(step_ns: Sequence[int]) -> bool:
    """Whether one step, or several in a row, were so long that what they did would matter if it came back:
    then plain steps go on until it does, or until it matters no more, and ten seconds at most.
    """
    median = sorted(step_ns)[len(step_ns) // 2]
    is_long = [ns > _LONG * median for ns in step_ns]
    occasions = sum(now and not before for before, now in zip([False, *is_long], is_long, strict=False))
    extra_ns = sum(ns - median for ns, long in zip(step_ns, is_long, strict=True) if long)
    elapsed_ns = sum(step_ns)
    return occasions == 1 and extra_ns >= _WORTH * elapsed_ns and elapsed_ns < _PHASE_NS


def period(sources: Sequence[object], newest_at: int = 0) -> int:
    """Ticks after which the sequence of ticking optimizers or models repeats; 1 if it does not.

    The first third may differ, and all before the last of them came for the first time (`newest_at`). An
    epoch that ends within a period may cut it short, once.
    """
    length = len(sources)
    repeats = min(-(-2 * length // 3), length - newest_at)
    for candidate in range(1, min(_LONGEST_PERIOD, length // 2) + 1):
        tail = sources[-max(2 * candidate, repeats) :]
        if _repeats(tail, candidate):
            return candidate
    return 1


def _repeats(tail: Sequence[object], ticks: int) -> bool:
    """From the end, where what does not repeat shows soonest: this is asked at each tick."""
    cut: int | None = None  # the last tick of a period that was cut short
    for i in reversed(range(ticks, len(tail))):
        if tail[i] == tail[i - ticks]:
            continue
        if cut is None:
            enough = len(tail) >= _PERIODS_IF_CUT * ticks and i < len(tail) - ticks
            if not enough or len(set(tail[-ticks:])) == 1:  # of one source alone: a loop that follows another
                return False
            cut = i
        elif cut - i >= ticks:
            return False
    return True
