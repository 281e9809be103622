"""What only some of the plain steps do: a validation every tenth, a checkpoint, a buffer filled again.

The child looks every few milliseconds which lines run (`run/child/lines/line_samples.py`). A line that every
step runs is seen in as many steps as chance says; one that only some steps run is seen often in few. The
outermost line of that kind is where the work is called.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from diagnose.measure.periods import regularly_long
from diagnose.measure.processor import Stretches
from diagnose.measure.recording import Recording

TRAINS = r"^torch/(_tensor|autograd/__init__)\.py: (backward|grad)$|^torch/optim/(?!lr_scheduler)"
FEWEST_LOOKS = 6  # of a line, before it is said to be in some steps only
# Of the steps that chance says it is seen in; of every second step it is a half. Times that vary like those
# between random events have 0.7 to 0.8.
IN_FEW_STEPS = 0.6
# of the looks at a line that makes some steps long, and at most of those at other lines: these steps are half
# of the time or little more
IN_LONG_STEPS, AS_OTHERS = 0.9, 0.7
# looks at each occasion from which the steps' own lengths tell the cost better than their number does
ENOUGH_LOOKS = 3
# of the looks at a usual occasion: so few in a step are of something else that the line does
SELDOM = 0.5
# of what a step is longer by, that the looks at its works tell of: else something else made it long, and what
# is short in other steps was merely seen more often
EXPLAINED = 0.5
LONG_ALONE = 3  # times a usual step: works that take so long are not seen there by chance
FEWEST_WITHOUT = 3  # steps without such work, to tell how long a step is without it
OFTEN = 0.25  # of the distance from one occasion to the next: how much distances may differ in a regular work


class Line(NamedTuple):
    file: str
    line: int
    function: str
    callee: str


Stack = tuple[Line, ...]  # outermost first


def trains(stack: Stack) -> bool:
    """A line calls the backward or an optimizer's step."""
    return any(re.search(TRAINS, line.callee) for line in stack)


@dataclass(frozen=True)
class Recurring:
    """Work that some of the plain steps do. ``calls``: its lines, the outermost first, each the costliest one
    that the line before it calls. ``looks``: how often each stack was seen of it. ``batch_size``: that its
    calls of a model are mostly given; None where none was seen.
    """

    calls: Stack
    looks: Mapping[Stack, int]
    steps: np.ndarray  # numbers of the plain steps, from 0, rising
    ms: np.ndarray  # what it costs in each of them
    batch_size: int | None = None

    @property
    def occasions(self) -> np.ndarray:
        """Positions in ``steps`` of the first of several steps in a row."""
        return np.flatnonzero(np.diff(self.steps, prepend=-2) > 1)

    @property
    def every(self) -> int | None:
        """It comes back after so many steps; None where it was seen once, or does not come regularly."""
        begins = self.steps[self.occasions]
        if len(begins) < 2:
            return None
        distances = np.diff(begins)
        usual = float(np.median(distances))
        # one that was not looked at in between makes twice the distance
        times = np.maximum(np.round(distances / usual), 1)
        regular = np.abs(distances - times * usual) <= max(1.0, OFTEN * usual)
        return round(usual) if regular.mean() >= 0.75 else None

    @property
    def ms_per_occasion(self) -> float:
        return float(self.ms.sum()) / len(self.occasions)


def recurring_work(recording: Recording, plain: Stretches) -> list[Recurring]:
    """All there is, costliest first; ``plain``: the plain steps."""
    looks = _looks(recording)
    borders = _borders(recording)
    if not looks or borders is None:
        return []
    step = np.searchsorted(borders, looks.ns, side="right") - 1
    inside = (step >= 0) & (step < min(len(borders) - 1, len(plain.wall_ns)))
    if inside.sum() < FEWEST_LOOKS:
        return []
    step, looks = step[inside], looks.of(inside)
    is_long = regularly_long(plain.lengths_ns)
    groups = list(_in_few_steps(looks.stacks, looks.stack, step, np.arange(len(step)), 0, is_long))
    between_ns = (borders[-1] - borders[0]) / len(step)
    found = _with_costs(groups, looks, step, plain, float(between_ns))
    return sorted(found, key=lambda work: -float(work.ms.sum()))


def seen_share(recording: Recording, lines: Collection[tuple[str, int]]) -> float:
    """Share of the plain steps in which a look saw one of these lines (file, line); 0 where nobody looked."""
    looks, borders = _looks(recording), _borders(recording)
    if not looks or borders is None or len(borders) < 2:
        return 0.0
    there = [any(line[:2] in lines for line in stack) for stack in looks.stacks]
    step = np.searchsorted(borders, looks.ns[np.array(there, bool)[looks.stack]], side="right") - 1
    return len(np.unique(step[(step >= 0) & (step < len(borders) - 1)])) / (len(borders) - 1)


def batch_elsewhere(recording: Recording, line: Line, stacks: Collection[Stack]) -> int | None:
    """What the line mostly gives a model, but for the looks at these stacks; None where no look tells."""
    looks = _looks(recording)
    if looks is None:
        return None
    counts = [line in stack and stack not in stacks for stack in looks.stacks]
    given = looks.batch[np.array(counts, bool)[looks.stack]]
    given = given[given > 0]
    return Counter(given.tolist()).most_common(1)[0][0] if len(given) else None


def _borders(recording: Recording) -> np.ndarray | None:
    """When the plain steps begin and the last one ends, ns."""
    phase = recording.phase("plain")
    return None if phase is None else np.asarray(phase["tick_ns"][:: recording.ticks_per_step], np.int64)


class _Looks(NamedTuple):
    ns: np.ndarray
    stack: np.ndarray  # number of each one's stack
    batch: np.ndarray  # what the outermost module was given, 0 where none was called
    stacks: Sequence[Stack]

    def of(self, rows: np.ndarray) -> _Looks:
        return _Looks(self.ns[rows], self.stack[rows], self.batch[rows], self.stacks)


def _looks(recording: Recording) -> _Looks | None:
    told: dict[str, Any] = recording.facts.get("line_samples") or {}
    stacks = [tuple(Line(*line) for line in stack) for stack in told.get("stacks") or []]
    ns, stack = (np.asarray(told.get(name) or [], np.int64) for name in ("ns", "stack"))
    count = min(len(ns), len(stack))
    batch = np.zeros(count, np.int64)  # an older recording has none
    known = np.asarray(told.get("batch") or [], np.int64)[:count]
    batch[: len(known)] = known
    return _Looks(ns[:count], stack[:count], batch, stacks) if count and stacks else None


def _in_few_steps(
    stacks: Sequence[Stack],
    stack: np.ndarray,
    step: np.ndarray,
    rows: np.ndarray,
    depth: int,
    is_long: np.ndarray,
) -> Iterator[tuple[int, np.ndarray]]:
    """Depth and rows of the looks at each work: from the outermost lines inwards, as far as all steps go.

    ``is_long``: the steps that are long in a regular rhythm; what is seen in them alone makes them so.
    """
    by_line: dict[tuple[str, int], list[int]] = defaultdict(list)
    for row in rows.tolist():
        lines = stacks[stack[row]]
        if depth < len(lines):
            by_line[lines[depth][:2]].append(row)
    for of_line in by_line.values():
        if len(of_line) < FEWEST_LOOKS:
            continue
        others = np.bincount(np.delete(step, of_line), minlength=len(is_long))
        some_steps = is_in_few_steps(step[of_line], others) or _makes_long(step[of_line], others, is_long)
        calls_the_loop = others.sum() < FEWEST_LOOKS and any(
            map(trains, (stacks[stack[row]] for row in of_line))
        )
        if some_steps and not calls_the_loop:
            yield depth, _often_seen(np.array(of_line), step)
        else:
            yield from _in_few_steps(stacks, stack, step, np.array(of_line), depth + 1, is_long)


def _often_seen(rows: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Those in steps that were looked at often: the line may do a little in all the others."""
    _, of_step, counts = np.unique(step[rows], return_inverse=True, return_counts=True)
    usual = float(np.median(counts[of_step]))  # of the step of a look
    return rows[counts[of_step] >= SELDOM * usual]


def is_in_few_steps(step: np.ndarray, others: np.ndarray) -> bool:
    """Whether looks that fell into these steps, one number a look, tell of work that not every step does.
    ``others``: of each step, the looks at other lines. What every step does is seen as they are.
    """
    part = (others + 0.5) / (others + 0.5).sum()
    by_chance = float((1 - (1 - part) ** len(step)).sum())
    return len(np.unique(step)) <= IN_FEW_STEPS * by_chance


def _makes_long(step: np.ndarray, others: np.ndarray, is_long: np.ndarray) -> bool:
    """Whether nearly all looks at a line fell into steps that are long regularly, and others did not."""
    part = float(others[is_long].sum()) / max(int(others.sum()), 1)
    return bool(is_long.any()) and is_long[step].mean() >= IN_LONG_STEPS and part <= AS_OTHERS


def _with_costs(
    groups: Sequence[tuple[int, np.ndarray]],
    looks: _Looks,
    step: np.ndarray,
    plain: Stretches,
    between_ns: float,
) -> Iterator[Recurring]:
    """What a step takes beyond those without such work, shared by the looks at each; by the looks alone where
    every step has some, and where something else makes it long as well.
    """
    count = np.zeros((len(groups), len(plain.wall_ns)))
    for number, (_, rows) in enumerate(groups):
        np.add.at(count[number], step[rows], 1)
    seen = count.sum(axis=0)
    without = seen == 0
    compared = without.sum() >= FEWEST_WITHOUT
    longer_ns, beyond_ns = (
        np.maximum(ns - np.median(ns[without]), 0.0) if compared else seen * between_ns
        for ns in (plain.wall_ns, plain.lengths_ns)
    )
    seen_ns = seen * between_ns
    explains = seen_ns >= EXPLAINED * longer_ns
    is_work = explains | (seen_ns >= LONG_ALONE * float(np.median(plain.lengths_ns)))
    for number, (depth, rows) in enumerate(groups):
        its_steps = np.flatnonzero((count[number] > 0) & is_work)
        its_rows = rows[is_work[step[rows]]]
        if len(its_rows) < FEWEST_LOOKS:
            continue
        its_count = count[number, its_steps]
        cost_ns = its_count * between_ns
        if np.median(its_count) >= ENOUGH_LOOKS:
            by_length_ns = beyond_ns[its_steps] * its_count / seen[its_steps]
            cost_ns = np.where(explains[its_steps], by_length_ns, cost_ns)
        of_work = [looks.stacks[one] for one in looks.stack[its_rows]]
        of_calls = looks.batch[its_rows][looks.batch[its_rows] > 0]
        batch_size = Counter(of_calls.tolist()).most_common(1)[0][0] if len(of_calls) else None
        yield Recurring(_costliest(of_work, depth), Counter(of_work), its_steps, cost_ns / 1e6, batch_size)


def _costliest(seen: Sequence[Stack], depth: int) -> Stack:
    """The line at that depth, and each time the one most often seen among those it calls."""
    found: list[Line] = []
    while seen := [lines for lines in seen if depth < len(lines)]:
        often: dict[Line, int] = defaultdict(int)
        for lines in seen:
            often[lines[depth]] += 1
        line = max(often, key=lambda one: often[one])
        found.append(line)
        seen = [lines for lines in seen if lines[depth][:2] == line[:2]]
        depth += 1
    return tuple(found)
