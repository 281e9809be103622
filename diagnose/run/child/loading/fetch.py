"""How long each batch took to fetch, measured where it is fetched: in the loader's
workers, or in the training process.
"""

from __future__ import annotations

import contextlib
import functools
import os
import struct
from collections import deque
from collections.abc import Callable
from time import perf_counter_ns, thread_time_ns
from typing import Any

import torch
from torch.utils.data import dataloader, get_worker_info
from torch.utils.data._utils import fetch

from ..coordinator import own_rank
from ..guard import guarded
from ..patching import Patches
from ..places import Places
from ..processor import ThreadDelay
from ..shared_state import SharedState
from .randomness import draws_random
from .rank_file import RankFile
from .worker_lines import WorkerLines

FILE = "loading.bin"
_RECORD = struct.Struct("<QQQqII")  # see docs/architecture.md, *loading.bin*
_IN_WORKER, _ASKED, _DRAWS = 1, 2, 4  # whether it draws random numbers, and that it was asked
_WAITS_NS = 50_000_000  # as much is lost of a training process that is killed
_BYTES_AT_MOST = 16_000_000  # 400,000 batches: workers may go on for days


class FetchLog:
    """Appends one record a batch, from the training process several at a time, so that a
    short step does not pay for writing.
    """

    def __init__(self, places: Places, run_folder: str, shared: SharedState) -> None:
        self._shared = shared
        self._file = RankFile(FILE, run_folder, shared, bytes_at_most=_BYTES_AT_MOST)
        self._lines = WorkerLines(places, run_folder, shared)
        self._delay = ThreadDelay()
        # start, duration, processor time, delay and flags, to be written
        self._waiting: deque[tuple[int, int, int, int, int]] = deque()
        self._due_ns = self._asked_pid = 0
        self._patches = Patches()

    def install(self) -> None:
        for fetcher in (fetch._MapDatasetFetcher, fetch._IterableDatasetFetcher):
            self._patches.replace(fetcher, "fetch", self._timed(fetcher.fetch))
        workers = dataloader._MultiProcessingDataLoaderIter
        self._patches.replace(workers, "__init__", self._introducing(workers.__init__))

    def remove(self) -> None:
        self.write()
        self._patches.restore()

    def close(self) -> None:
        """Forget everything: in a forked child, or at the end."""
        self._waiting.clear()
        self._file.close()
        self._lines.close()
        self._delay.close()

    def _timed(self, original: Callable[..., Any]) -> Callable[..., Any]:
        waiting, delay = self._waiting, self._delay

        def fetch(fetcher: Any, indices: Any) -> Any:
            in_worker = get_worker_info() is not None
            flags = _IN_WORKER if in_worker else 0
            if in_worker:
                self._lines.begin(fetch.__code__)
            begin = perf_counter_ns()  # around the delay: it is part of the time the fetch took
            delayed, worked = delay.ns(), thread_time_ns()
            if in_worker and self._asked_pid != os.getpid():  # a worker's first
                self._asked_pid = os.getpid()
                batch, draws = draws_random(fetcher.dataset, lambda: original(fetcher, indices))
                flags |= 0 if draws is None else _ASKED | _DRAWS * draws
            else:
                batch = original(fetcher, indices)
            worked = thread_time_ns() - worked
            delayed = delay.ns() - delayed if delayed >= 0 else delayed
            end = perf_counter_ns()
            waiting.append((begin, end - begin, worked, delayed, flags))
            if end >= self._due_ns or in_worker:  # it may be killed at any time
                self._due_ns = end + _WAITS_NS
                self.write()
            if in_worker:
                self._lines.ended()
            return batch

        return fetch

    def _introducing(self, original: Callable[..., None]) -> Callable[..., None]:
        """A worker that is started afresh knows nothing but its parent, so
        that one's seat must be taken before.
        """

        @functools.wraps(original)
        def __init__(iterator: Any, /, *args: Any, **kwargs: Any) -> None:
            self._take_slot()
            original(iterator, *args, **kwargs)

        return __init__

    @guarded("introducing loader workers")
    def _take_slot(self) -> None:
        distributed = torch.distributed
        if (
            distributed.is_available()
            and distributed.is_initialized()
            and not self._shared.pid_at(own_rank())
        ):
            self._shared.set_pid(own_rank(), os.getpid())

    @guarded("writing how long batches took")
    def write(self) -> None:
        """Write what waits. Harmless when repeated."""
        records = []
        with contextlib.suppress(IndexError):  # another thread may write too
            while self._waiting:
                records.append(self._waiting.popleft())
        if not records:
            return
        pid = os.getpid()
        packed = (_RECORD.pack(*times, pid, flags) for *times, flags in records)
        try:
            goes_on = self._file.append(b"".join(packed))
        except OSError:
            goes_on = False  # disk full: the script is not to suffer for it
        if not goes_on:
            self._patches.restore()
