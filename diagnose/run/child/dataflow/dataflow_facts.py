"""What is told of the look at the dataflow: by line, times in ns of the first step that was looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..line_sums import LINES_AT_MOST, Mendable, Sum, listed
from ..places import Place
from ..products.products import WAYS, Products
from .at_once import AtOnce
from .call_places import outermost_alone
from .sample_work import told_at
from .seen_step import SeenStep

Lines = list[dict[str, Any]]
_LITTLE = 0.2  # of what is computed again under a line: it may add up results, too


@dataclass(frozen=True)
class DataflowFacts:
    """``first``: the step whose calls are told; ``later``: those after the early ones. ``unread``: calls of
    the first step, by how little is read of them. ``written``: values (by number) that were written to.
    ``shifted``: calls of the first step that copy a buffer to take in a few rows; ``known``: those of layers
    whose input is in part known ahead of their loop; ``one_end``: those of bidirectional networks one
    of whose directions is hardly read.
    """

    first: SeenStep
    later: list[SeenStep]
    products: Products
    unread: Mapping[str, dict[Place, Sum]] | None
    written: set[int]
    shifted: Mendable | None
    known: Mendable
    one_end: Mendable

    def told(self) -> dict[str, Any]:
        """Times in ns of the one step. ``at_once``: lines of the user's whose calls could be one instead of
        ``rounds``, the line of the ``loop`` by which all rounds come there, and products among them that were
        tried; ``around``: all calls under a line, and those of such loops; ``drawn``: of all calls under a
        line those that depend on numbers drawn at random, and on nothing that is trained; ``again``: by the
        line that asks for values that are there; ``computed_again``: the same calls by the line that makes
        them.
        """
        step = self.first
        again, computed_again = self._again()
        at_once = AtOnce()
        independent = Counter[Place]()
        loops = [group for group in step.groups.values() if group.is_loop]
        trained = {entered for group in loops if group.trained for entered in group.entered}
        for group in loops:
            if group.could_be_one(trained):
                at_once.add(group)
            for around in group.site.around:
                independent[around] += group.ns
        return {
            "calls_ns": step.calls_ns,
            "backward_ns": step.backward_ns,
            "trained_ns": step.counted.trained_ns,
            "at_once": at_once.told(step.lines),
            "around": [
                {**place._asdict(), "ns": ns, "independent_ns": independent[place]}
                for place, ns in step.around.most_common(LINES_AT_MOST)
            ],
            "drawn": listed(step.drawn),
            "again": listed(again),
            "computed_again": self._of_lines(computed_again),
            **({"constant": self._of_lines(self._constant())} if self.later else {}),
            **({"of_samples": listed(self._of_samples())} if self.later else {}),
            **{how: self._of_lines(calls) for how, calls in (self.unread or {}).items()},
            "checks": listed(step.checks),
            "penalties": self._of_lines(step.penalties),
            "large": [
                {**place._asdict(), "bytes": size}
                for place, size in self.products.large_bytes.most_common(LINES_AT_MOST)
            ],
            "free_cells": [place._asdict() for place in self._around_free_cells()],
            "depthwise": self._of_lines(self.products.depthwise),
            **{way: self._with_left(self.products.ways[way]) for way in WAYS},
            **({} if self.shifted is None else {"shifted": self._with_left(self.shifted)}),
            "members": self._with_left(self._members()),
            "known_parts": self._with_left(self.known),
            "one_end": self._with_left(self.one_end),
            "lookups": step.lookups.facts,
            "diagonal": self._of_lines(step.of_covariance if step.diagonal == {True} else {}),
        }

    def _of_lines(self, sums: dict[Place, Sum]) -> Lines:
        """With what all calls of the line take, and those whose result needs gradients, whichever of its
        functions makes them: a comprehension is one of its own, and a backward is known by line.
        """
        whole, trained = Counter[tuple[str, int]](), Counter[tuple[str, int]]()
        for of_line, by_place in ((whole, self.first.lines), (trained, self.first.trained)):
            for place, ns in by_place.items():
                of_line[place.file, place.line] += ns
        return [
            {
                **line,
                "line_ns": whole[line["file"], line["line"]],
                "line_trained_ns": trained[line["file"], line["line"]],
            }
            for line in listed(sums)
        ]

    def _with_left(self, calls: Mendable) -> Lines:
        return [
            {**line, "left_ns": calls.left_ns[Place(line["file"], line["line"], line["function"])]}
            for line in self._of_lines(calls.sums)
        ]

    def _members(self) -> Mendable:
        """Of the first step, layers of one shape that are called in turn."""
        found = Mendable()
        for group in self.first.groups.values():
            if group.are_tried_members and group.left is not None:
                trained_ns = group.ns if group.trained else 0
                found.add(group.site.place, group.ns, trained_ns, group.left, group.count)
        return found

    def _again(self) -> tuple[dict[Place, Sum], dict[Place, Sum]]:
        """What was computed again, by the line that asks and by the one that computes: in the first step, and
        on average in the later ones, each as if all its calls had taken as long as the first one's.
        """
        again = self._at_one_line()
        computed = {place: replace(told) for place, told in self.first.computed_again.items()}
        averages = (
            self._on_average(lambda step: step.again_later.items()),
            self._on_average(lambda step: step.computed_later.items()),
        )
        for sums, average in zip((again, computed), averages, strict=True):
            for place, told in average.items():
                sums.setdefault(place, Sum()).add(told.ns, told.trained_ns, told.call_count)
        return again, computed

    def _at_one_line(self) -> dict[Place, Sum]:
        """What the first step computed again, each at the outermost of its lines under which little else is
        computed, else at the innermost.
        """
        again, under_ns = self.first.again, Counter[Place]()
        for lines, calls in again.items():
            under_ns.update(dict.fromkeys(lines, calls.sum.ns + calls.first_ns))
        others = {place for place, ns in under_ns.items() if self.first.around[place] > (1 + _LITTLE) * ns}
        found: dict[Place, Sum] = {}
        for lines, calls in again.items():
            place, told = outermost_alone(lines, others), calls.sum
            found.setdefault(place, Sum()).add(told.ns, told.trained_ns, told.call_count)
        return found

    def _constant(self) -> dict[Place, Sum]:
        """What later steps computed on average though it never changes, and that nothing writes to after."""
        return self._on_average(
            lambda step: (
                (place, told) for (place, number), told in step.constant.items() if number not in self.written
            )
        )

    def _around_free_cells(self) -> list[Place]:
        """The lines that lead to such cells of the first step, and to no others."""
        free, others = set[Place](), set[Place]()
        for cells in self.first.cells.values():
            (free if cells.are_free else others).update(cells.around)
        return sorted(free - others)[:LINES_AT_MOST]

    def _of_samples(self) -> dict[Place, Sum]:
        """What later steps computed on average of samples alone."""
        return self._on_average(lambda step: told_at(step.of_samples, step.of_others).items())

    def _on_average(self, told_of: Callable[[SeenStep], Iterable[tuple[Place, Sum]]]) -> dict[Place, Sum]:
        """Of the later steps."""
        found: dict[Place, Sum] = {}
        for step in self.later:
            for place, told in told_of(step):
                found.setdefault(place, Sum()).add_part(told, self._part(step), 1 / len(self.later))
        return found

    def _part(self, step: SeenStep) -> float:
        """Of a later step's time in the average, as if all its calls had taken as long as the first one's."""
        return self.first.calls_ns / max(step.calls_ns, 1) / len(self.later)
