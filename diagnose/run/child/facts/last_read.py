"""What was last read of objects that may be gone by the time all is written."""

from __future__ import annotations

from typing import Generic, TypeVar

Read = TypeVar("Read")


class LastRead(Generic[Read]):
    """A script that has ended has taken its models and optimizers down: what was read of them before stays.
    Of those that others have come in the place of, as in a search, it does not.
    """

    def __init__(self) -> None:
        self._read: dict[int, Read] = {}  # by the object's id

    def with_those_gone(self, read: dict[int, Read]) -> list[Read]:
        """``read``: of those alive, by id."""
        self._read = self._read | read if read.keys() <= self._read.keys() else read
        return list(self._read.values())
