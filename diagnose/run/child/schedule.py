"""When each phase of the recording ends: counts and times only, no torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SECOND = 1_000_000_000

_SETTLED_STEPS = 3
_SETTLED_SPREAD = 1.5  # slowest of the last steps over the fastest
_WARMUP_STEPS = 30
_UNTIMED_WARMUP_STEPS = 10
WARMUP_TICKS = 2 * _WARMUP_STEPS  # to find the period in the sequence of several optimizers
_WARMUP_NS = 20 * SECOND
_PHASE_NS = 10 * SECOND
_PLAIN_STEPS_AT_LEAST = 5
_PLAIN_NS_AT_MOST = 30 * SECOND
_PARTS_STEPS_AT_LEAST = 3
_PARTS_NS = SECOND // 2
_LONGEST_PERIOD = 512
COLD_STEPS = 2
_NEVER_NS = 1 << 62


@dataclass(frozen=True)
class Budget:
    """A phase ends at `steps`, or at `time_ns` once it has `at_least` steps, or at `time_limit_ns` with one."""

    steps: int
    at_least: int = 1
    time_ns: int = _PHASE_NS
    time_limit_ns: int = _PHASE_NS

    def used_up(self, steps: int, elapsed_ns: int) -> bool:
        if steps < 1:
            return False
        if steps >= self.steps or elapsed_ns >= self.time_limit_ns:
            return True
        return elapsed_ns >= self.time_ns and steps >= self.at_least

    def expected_steps(self, step_ns: int) -> int:
        """After how many steps the phase ends if each takes that long."""
        in_time, at_most = (max(1, -(-limit_ns // max(1, step_ns))) for limit_ns in (self.time_ns, self.time_limit_ns))
        return min(self.steps, at_most, max(self.at_least, in_time))


def budgets(steps: int, plain_steps: int | None = None, *, timed: bool = True) -> dict[str, Budget]:
    """The budget of every phase after the warm-up, scaled by the timeline's steps, except where `plain_steps` is given.

    Not `timed`: only steps count, which processes know that cannot ask each other how long theirs took.
    """
    plain = plain_steps or max(_PLAIN_STEPS_AT_LEAST, steps * 5 // 2)
    if not timed:
        counts = {"plain": plain, "parts": steps, "timeline": steps, "detail": max(1, steps // 4)}
        return {name: Budget(count, count, _NEVER_NS, _NEVER_NS) for name, count in counts.items()}
    return {
        "plain": Budget(plain, at_least=_PLAIN_STEPS_AT_LEAST, time_limit_ns=_PLAIN_NS_AT_MOST),
        "parts": Budget(2 * steps, at_least=_PARTS_STEPS_AT_LEAST, time_ns=_PARTS_NS),
        "timeline": Budget(steps),
        "detail": Budget(max(1, steps // 4)),
    }


def settled(step_ns: Sequence[int], elapsed_ns: int, *, timed: bool = True) -> bool:
    """True when the warm-up may end: the last steps take about the same time, or the patience is used up; not `timed`: after some steps."""
    if not timed:
        return len(step_ns) >= _UNTIMED_WARMUP_STEPS
    if len(step_ns) < _SETTLED_STEPS:
        return bool(step_ns) and elapsed_ns >= _WARMUP_NS and step_ns[-1] <= _SETTLED_SPREAD * min(step_ns)
    last = step_ns[-_SETTLED_STEPS:]
    return max(last) <= _SETTLED_SPREAD * min(last) or len(step_ns) >= _WARMUP_STEPS or elapsed_ns >= _WARMUP_NS


def period(sources: Sequence[object]) -> int:
    """Ticks after which the sequence of ticking optimizers repeats; 1 if it does not. The first third may differ."""
    length = len(sources)
    for candidate in range(1, min(_LONGEST_PERIOD, length // 2) + 1):
        tail = sources[-max(2 * candidate, -(-2 * length // 3)) :]
        if all(tail[i] == tail[i - candidate] for i in range(candidate, len(tail))):
            return candidate
    return 1
