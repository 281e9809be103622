"""Whether a script has warmed up: how many ticks make a step, and whether steps take the same time."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

from ..steps.answers import Again
from . import schedule

_INPUTS = 3
_SAME_INPUT_TICKS = 24  # calls with the same input; Monte Carlo dropout mostly makes fewer


class WarmUp:
    """Told of every tick while the script warms up; asked before each round of phases."""

    def __init__(self) -> None:
        self._sources: list[int] = []
        self._classes: list[type] = []
        self._known: set[int] = set()
        self._newest_at = 0  # where the last source came for the first time
        self._from_ns = 0  # earlier steps do not count
        self._least_ticks = 0
        self._is_over = False  # steps have taken the same time before

    def add(self, source: object) -> None:
        """A tick, and what it came from: an optimizer, a model, a graph, a word for the clock."""
        if id(source) not in self._known:
            self._known.add(id(source))
            self._newest_at = len(self._sources)
        self._sources.append(id(source))
        self._classes.append(type(source))

    @property
    def source_count(self) -> int:
        return len(self._known)

    def period(self) -> int:
        """Ticks a step: by optimizer or model; by its class for scripts that make new ones all the time."""
        by_source = schedule.period(self._sources, self._newest_at)
        return by_source if by_source > 1 else schedule.period(self._classes)

    def may_end(self, number: int, period: int) -> bool:
        """Whether a step ends with this tick, and every source has come twice (or long has passed since the
        last one came: what was before, as an index that a service fills, is another loop). Of several, the
        period is known, too, or two rounds as long as any source takes to come again have not told one.
        """
        if Again in self._classes and not self._inputs_came_again():
            return False
        ticks, makes_new_ones = len(self._sources), self.source_count > schedule.SOURCES_AT_MOST
        waited = ticks if makes_new_ones else ticks - self._newest_at
        came_again = self._sources[self._newest_at] in self._sources[self._newest_at + 1 :]
        seen_twice = came_again and ticks >= 2 * self.source_count
        if period == 1 and self.source_count > 1:
            seen_twice &= waited >= 2 * self._longest_round()
        return (number + 1) % period == 0 and (seen_twice or waited > schedule.WARMUP_TICKS)

    def _longest_round(self) -> int:
        """Ticks from the first of a source to its second."""
        first: dict[int, int] = {}
        rounds: dict[int, int] = {}
        for at, source in enumerate(self._sources):
            if source in first:
                rounds.setdefault(source, at - first[source])
            else:
                first[source] = at
        return max(rounds.values(), default=0)

    def _inputs_came_again(self) -> bool:
        """Whether a model that is asked the same several times has got its third input (two rounds are known
        then), or seems to have one for ever, as in a benchmark.
        """
        at_once = next(
            (at for at, cls in enumerate(reversed(self._classes)) if cls is not Again), len(self._classes)
        )
        waited = len(self._sources) - self._newest_at
        came_often = min(Counter(self._sources).values()) >= _INPUTS
        return came_often or at_once > _SAME_INPUT_TICKS or waited > schedule.WARMUP_TICKS

    def count_from(self, now_ns: int, least_ticks: int) -> None:
        """Steps count again from now on, when at least so many ticks have passed."""
        self._from_ns, self._least_ticks = now_ns, least_ticks

    def is_over(self, tick_ns: Sequence[int], ticks: int, period: int, *, enough: int, timed: bool) -> bool:
        """``tick_ns``: of the warm-up in progress; ``ticks``: since the recording began; ``enough``: steps
        after which a round begins settled or not, if another one follows it, else 0; ``timed``: whether
        time may decide, which machines do not share.
        """
        borders = [ns for ns in tick_ns[::-period][::-1] if ns >= self._from_ns]
        step_ns = [later - earlier for earlier, later in itertools.pairwise(borders)]
        if enough and len(step_ns) >= enough:
            return True
        if len(step_ns) * period < self._least_ticks:
            return False
        if self._is_over or ticks > schedule.WARMUP_STEPS * period:
            return bool(step_ns)
        self._is_over = schedule.settled(step_ns, tick_ns[-1] - tick_ns[0], timed=timed)
        return self._is_over
