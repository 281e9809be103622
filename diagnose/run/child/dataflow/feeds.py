"""Lines that make what is trained on: without gradients themselves, as a rollout by the model that is
trained, or what another model says of a batch. An evaluation's results go nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..places import Place


class Feeds:
    """Told of each call of the steps. Values go by their numbers."""

    def __init__(self) -> None:
        # of a value without gradients the lines that led to its call, and what that was given
        self._made: dict[int, tuple[Sequence[Place], Sequence[int]]] = {}
        self._trained_on: set[int] = set()

    def call(
        self, given: Sequence[int], made: Iterable[int], lines: Sequence[Place], *, is_trained: bool
    ) -> None:
        """``lines``: those that led there."""
        if is_trained:
            self._trained_on.update(given)
        else:
            for number in made:
                self._made.setdefault(number, (lines, given))

    def lines(self) -> set[Place]:
        """Those that led to what was trained on."""
        found, seen, left = set[Place](), set[int](), list(self._trained_on)
        while left:
            number = left.pop()
            if number not in seen and number in self._made:
                seen.add(number)
                lines, given = self._made[number]
                found.update(lines)
                left += given
        return found
