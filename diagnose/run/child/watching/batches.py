"""The batches that a thread's DataLoaders give it: how long it waits for them, and how far they are."""

from __future__ import annotations

import weakref
from collections import Counter, deque
from threading import get_ident
from time import perf_counter_ns
from typing import Any

from torch.utils.data import BatchSampler, IterableDataset, dataloader

from ..guard import guarded
from ..patching import Patches
from ..source.epochs import UNKNOWN, Round


class Batches:
    """``waits``: when each began, and for how long, ns. ``samples``: those of all steps so far, by the
    loader's batch size, so that an epoch's last batch counts as whole; None while that is not known.
    """

    def __init__(self, waits_at_most: int) -> None:
        self.waits: deque[tuple[int, int]] = deque(maxlen=waits_at_most)
        self.samples: int | None = None
        self._latest: weakref.ref[Any] | None = None  # iterator
        self._came: Counter[int] = Counter()  # since the last tick, by iterator
        self._patches = Patches()

    def install(self) -> None:
        """In the thread whose batches count."""
        iterator, waits, thread = dataloader._BaseDataLoaderIter, self.waits, get_ident()
        original = iterator.__next__

        def __next__(batches: Any) -> Any:
            begin_ns = perf_counter_ns()
            try:
                batch = original(batches)
            finally:
                if get_ident() == thread:
                    waits.append((begin_ns, perf_counter_ns() - begin_ns))
            if get_ident() == thread:
                self._came_from(batches)
            return batch

        self._patches.replace(iterator, "__next__", __next__)

    def remove(self) -> None:
        self._patches.restore()

    @guarded("counting batches")
    def _came_from(self, batches: Any) -> None:
        self._latest = weakref.ref(batches)
        self._came[id(batches)] += 1

    def tick(self) -> None:
        """What the last of the loaders gave was for this step; others validate, or prepare."""
        if not self._came:
            return
        latest, came = self._iterator(), self._came
        size = _batch_size(latest)
        if size is not None:
            self.samples = (self.samples or 0) + size * came[id(latest)]
        came.clear()

    def forget(self) -> None:
        """What came until now was for no step that counts."""
        self.waits.clear()
        self._came.clear()

    def _iterator(self) -> Any:
        return None if self._latest is None else self._latest()

    def round(self) -> Round:
        """The number of the latest batch in its epoch, from 0, and how many there are."""
        latest = self._iterator()
        if latest is None or not latest._num_yielded or isinstance(latest._dataset, IterableDataset):
            return UNKNOWN
        if type(latest._index_sampler) is not BatchSampler:
            return UNKNOWN  # the script's own is not asked
        return Round(latest._num_yielded - 1, len(latest._index_sampler))


def _batch_size(iterator: Any) -> int | None:
    sampler = getattr(iterator, "_index_sampler", None)
    return sampler.batch_size if type(sampler) is BatchSampler else None
