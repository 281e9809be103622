"""What memory another batch size needs: two looks at what fills memory, at two sizes, give each storage as
a + b · size, and the order in which they come and go gives the peak.

A step makes the same storages whatever the batch size; the sizes of some are in proportion to it, as of
activations, and others do not depend on it, as parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diagnose.errors import DiagnoseError
from diagnose.measure.memory_peak import MemoryLook, Stored

FARTHEST = 4  # times the larger of the two sizes: what is said of larger ones is marked


@dataclass(frozen=True)
class Sized:
    """A look at steps of that batch size."""

    batch_size: int
    memory: MemoryLook


class BatchModel:
    """Of one device."""

    def __init__(self, one: Sized, other: Sized, device: str) -> None:
        """Raises DiagnoseError where the steps of both do not make the same storages."""
        self._sizes = one.batch_size, other.batch_size
        if one.batch_size == other.batch_size:
            raise DiagnoseError("two batch sizes are needed", saw=f"{one.batch_size} twice")
        looks = [sized.memory.storages(device) for sized in (one, other)]
        before = [[stored for stored in look if stored.begin < 0] for look in looks]
        made = [[stored for stored in look if stored.begin >= 0] for look in looks]
        if [stored.made_by for stored in made[0]] != [stored.made_by for stored in made[1]]:
            raise DiagnoseError(
                "steps of other batch sizes make other tensors, so nothing can be said of their memory",
                saw=f"{len(made[0])} tensors in two steps at {one.batch_size}, {len(made[1])} at "
                f"{other.batch_size}",
            )
        self._made = [
            _line(self._sizes, first.bytes, second.bytes) for first, second in zip(*made, strict=True)
        ]
        self._before = _line(self._sizes, *(sum(stored.bytes for stored in those) for those in before))
        self._gone = self._lines_of_what_goes(before)
        self._order = _order(made[0], before[0])

    def _lines_of_what_goes(self, before: list[list[Stored]]) -> list[tuple[float, float]]:
        """Of what was there before and goes in the steps, in the order in which it does; where the two
        differ in that, each as large as at the first size.
        """
        first, second = (_going(those) for those in before)
        if len(first) == len(second):
            pairs = zip(first, second, strict=True)
            return [_line(self._sizes, one.bytes, other.bytes) for one, other in pairs]
        return [(float(stored.bytes), 0.0) for stored in first]

    def peak_bytes(self, batch_size: int) -> int:
        """The most that tensors hold at once."""

        def size(line: tuple[float, float]) -> float:
            return max(0.0, line[0] + line[1] * batch_size)

        sizes = {True: [size(line) for line in self._made], False: [size(line) for line in self._gone]}
        changes = [sign * sizes[made][at] for made, at, sign in self._order]
        return round(size(self._before) + max(0.0, float(np.cumsum([0.0, *changes]).max())))

    def largest(self, limit: int) -> int | None:
        """The largest batch whose peak stays within so many bytes; None if none does, or every one would."""
        if self.peak_bytes(1) > limit:
            return None
        low, high = 1, 2
        while self.peak_bytes(high) <= limit:
            low, high = high, 2 * high
            if high > 2**40:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.peak_bytes(middle) <= limit else (low, middle)
        return low

    def is_far(self, batch_size: int) -> bool:
        """So large that operators may choose other ways."""
        return not min(self._sizes) / FARTHEST <= batch_size <= FARTHEST * max(self._sizes)


def _line(sizes: tuple[int, int], first: float, second: float) -> tuple[float, float]:
    """a and b of a + b · size."""
    slope = (second - first) / (sizes[1] - sizes[0])
    return first - slope * sizes[0], slope


def _going(before: list[Stored]) -> list[Stored]:
    return sorted((stored for stored in before if stored.end >= 0), key=lambda stored: stored.end)


def _order(made: list[Stored], before: list[Stored]) -> list[tuple[bool, int, int]]:
    """Each event: whether it is of what was made in the steps, its number among those, +1 or −1."""
    events = [(stored.begin, True, at, 1) for at, stored in enumerate(made)]
    events += [(stored.end, True, at, -1) for at, stored in enumerate(made) if stored.end >= 0]
    events += [(stored.end, False, at, -1) for at, stored in enumerate(_going(before))]
    return [(is_made, at, sign) for _, is_made, at, sign in sorted(events)]
