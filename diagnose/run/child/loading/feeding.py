"""Which loaders feed the steps: the batches of each that come while our profiler
records, and in how many of the steps.

A loader that validates brings many batches at once, and none between most steps.
"""

from __future__ import annotations

import weakref
from collections import Counter
from typing import Any

from ..guard import guarded

# of the ticks that the steadiest loader brings batches in: one that brings some
# in more of them feeds the steps, too
FEEDS = 0.5


class Feeding:
    """Counts per loader, for which any hashable object may stand; None for
    an iterator that nobody introduced.
    """

    def __init__(self) -> None:
        self._loader_of: weakref.WeakKeyDictionary[Any, object] = weakref.WeakKeyDictionary()  # by iterator
        self.forget()

    def forget(self) -> None:
        """Start counting again: what was counted belongs to no step."""
        self._ticks = 0
        self._came: Counter[object] = Counter()  # since the last tick
        self._batches: Counter[object] = Counter()
        self._ticks_fed: Counter[object] = Counter()

    def introduce(self, iterator: Any, loader: object) -> None:
        self._loader_of[iterator] = loader

    def fetch(self, iterator: Any) -> Arrival:
        return Arrival(self._came, self._loader_of.get(iterator))

    def tick(self) -> None:
        """What has come since the last one belongs to this one."""
        self._ticks += 1
        self._batches.update(self._came)
        self._ticks_fed.update(self._came.keys())
        self._came.clear()

    def facts(self, loader: object, steps: float) -> dict[str, float | None]:
        """`steps`: how many the recorded ticks are."""
        return {
            "batches_per_step": self._batches[loader] / steps if steps else None,
            "fed_share": self._ticks_fed[loader] / self._ticks if self._ticks else None,
        }

    def batches(self) -> int:
        """Of the loaders that feed the steps, of two that are zipped both."""
        steadiest = max(self._ticks_fed.values(), default=0)
        return sum(
            self._batches[loader] for loader, ticks in self._ticks_fed.items() if ticks > FEEDS * steadiest
        )


class Arrival:
    """Counts the batch if it comes, and not the call that finds that there are no more."""

    def __init__(self, came: Counter[object], loader: object) -> None:
        self._came, self._loader = came, loader

    @guarded("counting batches")
    def __enter__(self) -> None:
        return None

    @guarded("counting batches")
    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._came[self._loader] += 1
