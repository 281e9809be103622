"""What the look at the dataflow sees in a step: times by the user's lines, and calls that could be one."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Set
from dataclasses import dataclass, field
from typing import Any

from ..line_sums import Sum
from ..places import Place
from .call_places import Site
from .lookups import Lookups
from .penalties import Penalties

ROUNDS_AT_LEAST = 4  # of a loop
# after so many, what one product for all leaves is tried: more leave little less
TRIED_ROUNDS = (ROUNDS_AT_LEAST, 8)
_CELLS_AT_LEAST, _MOST = 8, 0.9


@dataclass
class Group:
    """Calls at the same instructions that do not depend on each other; ``site`` and ``number`` (of its value)
    are those of the first.
    """

    bit: int
    site: Site
    number: int
    fixed: tuple[int, ...]  # what was not made in this step, as weights: no others are for the rest
    shapes: list[tuple[int, ...]] = field(default_factory=list)  # of the results, as far as they are tried
    count: int = 0
    ns: int = 0
    same_weights: bool = True
    same_shape: bool = True
    trained: bool = True  # all results need gradients
    varied: bool = False
    left: float | None = None  # of its time, if all are one product, as a trial says
    loop: Place | None = None  # the line by which its rounds come here
    weights: set[tuple[int, ...]] = field(default_factory=set)  # what all but the first given was, by call

    @property
    def is_loop(self) -> bool:
        """The same is done with one thing after the other."""
        return self.same_weights and self.varied and self.count >= ROUNDS_AT_LEAST

    @property
    def are_members(self) -> bool:
        """Calls of one shape, each with weights of its own, or a slice of them."""
        return self.same_shape and ROUNDS_AT_LEAST <= self.count == len(self.weights)

    @property
    def are_tried_members(self) -> bool:
        return self.are_members and self.left is not None

    @property
    def entered(self) -> set[tuple[Place | None, int]]:
        """The loop, and by its code each function that every round enters on its way to the call."""
        inside = itertools.takewhile(lambda frame: frame.place != self.loop, self.site.frames)
        return {(self.loop, frame.code) for frame in inside} if self.loop else set()

    def could_be_one(self, trained: Set[tuple[Place | None, int]]) -> bool:
        """``trained``: functions that trained calls of such loops are made in. A loop of a loader's samples,
        each of its own size, could not. What is told as members is not told twice.
        """
        fits = self.same_shape or self.trained or not trained.isdisjoint(self.entered)
        return self.is_loop and fits and not self.are_tried_members


@dataclass
class Cells:
    """Calls of a recurrent cell in one loop, ``free`` of them with an input that depends on none before, and
    with a state that is another one's output or depends on none; the lines that lead there.
    """

    around: frozenset[Place]
    count: int = 0
    free: int = 0

    @property
    def are_free(self) -> bool:
        return self.free >= max(_CELLS_AT_LEAST, _MOST * self.count)


class Again:
    """Calls for values that are there; ``first_ns``: what the calls took that had made each of these."""

    def __init__(self) -> None:
        self.sum = Sum()
        self._first_ns: dict[int, int] = {}

    def add(self, value: int, ns: int, trained_ns: int, first_ns: int) -> None:
        self.sum.add(ns, trained_ns)
        self._first_ns[value] = first_ns

    @property
    def first_ns(self) -> int:
        return sum(self._first_ns.values())


@dataclass
class SeenStep:
    """What was seen in the step."""

    calls_ns: int = 0  # of all calls, the backward's too
    backward_ns: int = 0
    counted: Sum = field(default_factory=Sum)  # on the user's lines
    lines: Counter[Place] = field(default_factory=Counter)  # ns of the calls that a line makes itself
    trained: Counter[Place] = field(default_factory=Counter)  # ns of those whose result needs gradients
    around: Counter[Place] = field(default_factory=Counter)  # ns of all calls under a line
    drawn: dict[Place, Sum] = field(default_factory=dict)  # of those, what depends on numbers drawn at random
    # what is computed again, by the lines of which one is told, the innermost first
    again: dict[tuple[Place, ...], Again] = field(default_factory=dict)
    computed_again: dict[Place, Sum] = field(default_factory=dict)  # by the line that computes
    # the same of values that an earlier step has, asked for at another line
    again_later: dict[Place, Sum] = field(default_factory=dict)
    computed_later: dict[Place, Sum] = field(default_factory=dict)
    # by line and number of the value, what two steps before and earlier was asked for too
    constant: dict[tuple[Place, int], Sum] = field(default_factory=dict)
    # of calls that depend on samples alone, by the lines that lead there, the innermost first
    of_samples: defaultdict[tuple[Place, ...], Sum] = field(default_factory=lambda: defaultdict(Sum))
    of_others: set[Place] = field(default_factory=set)  # lines under which calls depend on something else
    cells: dict[Any, Cells] = field(default_factory=dict)  # by key of the site
    checks: dict[Place, Sum] = field(default_factory=dict)
    penalties: dict[Place, Sum] = field(default_factory=dict)  # on weights, in the loss
    squares: Penalties = field(default_factory=Penalties)
    lookups: Lookups = field(default_factory=Lookups)
    of_covariance: dict[Place, Sum] = field(default_factory=dict)  # normal distributions with a matrix
    diagonal: set[bool] = field(default_factory=set)  # whether the matrices are
    groups: dict[tuple[tuple[tuple[Any, ...], ...], int, int], Group] = field(default_factory=dict)
