"""What all injected fixes have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import FrameType
from typing import Any

from ..patching import Patches
from ..places import Place, Places


class Sites:
    """The lines of the user's code that a fix is for; no lines: everywhere."""

    def __init__(self, lines: Iterable[Sequence[Any]], places: Places) -> None:
        self.places = places
        self._lines = {(file, line) for file, line in lines}

    def __bool__(self) -> bool:
        return bool(self._lines)

    def include(self, frame: FrameType | None) -> bool:
        """Whether a call from `frame` is one of them."""
        return not self._lines or self.has(self.places.nearest(frame))

    def has(self, place: Place) -> bool:
        return (place.file, place.line) in self._lines


def given(**arguments: Any) -> dict[str, Any]:
    """Those that are not None."""
    return {name: value for name, value in arguments.items() if value is not None}


class Intervention:
    """One fix. It never breaks the script: where it cannot be applied, the
    call is made as the script made it.
    """

    idle = "Nothing that it changes was seen."  # said if it never met anything to change

    def __init__(self, sites: Sites) -> None:
        self.sites = sites
        self.patches = Patches()
        self.count = 0
        self.refused = False
        self._reason = ""

    @property
    def held(self) -> int:
        """How many calls or objects it really changed; 0 if it never took hold or gave up."""
        return 0 if self.refused else self.count

    @property
    def why_not(self) -> str:
        """Why it did not take hold, or not everywhere, in a sentence for people; empty otherwise."""
        return self._reason or ("" if self.held else self.idle)

    def install(self) -> None:
        """Right after torch has been imported."""

    def tick(self, number: int) -> None:
        """After each step, the first is 1."""

    def remove(self) -> None:
        """Take its patches away again."""
        self.patches.restore()

    def pass_over(self, why: str) -> None:
        """One call or object cannot be changed; the first reason is the one that is told."""
        self._reason = self._reason or why

    def refuse(self, why: str) -> None:
        """Give up for good."""
        if not self.refused:
            self.refused, self._reason = True, why
