"""Until when the runs of a verification may last."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

Clock = Callable[[], float]


class OutOfTime(Exception):
    """A run that cannot end in time, and was not started; or one that did not, and was ended."""


@dataclass(frozen=True)
class Deadline:
    """`ends_at`: a run that cannot end by then is not started; `cut_at`: one that is still going is ended,
    later than `ends_at` for a part of the time. Both on `clock`, in seconds.
    """

    ends_at: float
    cut_at: float
    clock: Clock = time.monotonic

    @classmethod
    def after(cls, seconds: float, clock: Clock = time.monotonic) -> Deadline:
        end = clock() + seconds
        return cls(end, end, clock)

    @classmethod
    def never(cls) -> Deadline:
        return cls.after(math.inf)

    @property
    def left_s(self) -> float:
        return max(0.0, self.ends_at - self.clock())

    def allows(self, seconds: float) -> bool:
        """Whether what takes so long can end in time."""
        return self.clock() + seconds <= self.ends_at

    def limited(self, limit_s: float | None) -> float | None:
        """The time limit of a run that starts now: its own, or what is left if that is less."""
        left_s = max(0.0, self.cut_at - self.clock())
        limit_s = left_s if limit_s is None else min(limit_s, left_s)
        return None if math.isinf(limit_s) else limit_s

    def part(self, share: float, at_least_s: float = 0.0) -> Deadline:
        """A share of what is left, for one of several jobs."""
        part_s = max(share * self.left_s, at_least_s)
        return replace(self, ends_at=min(self.ends_at, self.clock() + part_s))
