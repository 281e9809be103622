"""Which phases are still to come: one round of them, or short ones before the full one where the script may
end soon.
"""

from __future__ import annotations

from . import schedule
from .schedule import Budget, Round


class Rounds:
    """`plan` once the script has warmed up, `enter` a round, then `take` its phases one after the other."""

    def __init__(self, full: Round, *, stacks: bool) -> None:
        """``stacks``: whether the detail can be recorded."""
        self._full, self._stacks = full, stacks
        self._rounds: list[Round] = []  # the one in progress and those to come
        self._names: list[str] = []  # of its phases to come

    def plan(self, steps_left: int | None, pace_ns: int, *, at_once: bool, unrecorded: bool) -> list[Round]:
        """The rounds to come, as planned before or now.

        ``at_once``: in one round whatever is left, for ranks that wait for each other; ``unrecorded``:
        nothing has been recorded yet.
        """
        if self._rounds:
            return self._rounds
        full = schedule.paced(self._full, pace_ns)
        return [full] if at_once else schedule.rounds(full, steps_left, pace_ns, unrecorded=unrecorded)

    def enter(self, rounds: list[Round]) -> None:
        """The first of them begins."""
        self._rounds = rounds
        self._names = [name for name in rounds[0] if name != "detail" or self._stacks]

    def leave(self) -> None:
        """The round is over."""
        del self._rounds[0]

    @property
    def is_last(self) -> bool:
        return len(self._rounds) == 1

    @property
    def is_short(self) -> bool:
        """Another one follows this one."""
        return len(self._rounds) > 1

    def budget(self, name: str) -> Budget:
        """Of a phase of the round in progress."""
        return self._rounds[0][name]

    @property
    def next(self) -> str:
        """The phase that comes next in this round; empty after the last."""
        return self._names[0] if self._names else ""

    def take(self) -> str:
        return self._names.pop(0)

    def again(self, name: str) -> None:
        """That phase comes next."""
        self._names.insert(0, name)
