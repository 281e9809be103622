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

from .coordinator import own_rank
from .guard import guarded
from .patching import Patches
from .shared_state import SharedState

FILE = "fetches.bin"
_RECORD = struct.Struct("<QQQII")
_WAITS_NS = 50_000_000  # as much is lost of a training process that is killed
_BYTES_AT_MOST = 16_000_000  # half a million batches: workers may go on for days


class FetchLog:
    """Appends one record a batch, from the training process several at a time, so that a
    short step does not pay for writing.

    Small appends are atomic, so processes share the file without a lock.
    """

    def __init__(self, run_folder: str, shared: SharedState) -> None:
        self._run_folder, self._shared = run_folder, shared
        self._rank: int | None = None
        self._descriptor = -1
        # start, duration and processor time, to be written
        self._waiting: deque[tuple[int, int, int]] = deque()
        self._due_ns = 0
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
        self._rank = None
        self._waiting.clear()
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _timed(self, original: Callable[..., Any]) -> Callable[..., Any]:
        waiting = self._waiting

        def fetch(fetcher: Any, indices: Any) -> Any:
            begin, worked = perf_counter_ns(), thread_time_ns()
            batch = original(fetcher, indices)
            worked, end = thread_time_ns() - worked, perf_counter_ns()
            waiting.append((begin, end - begin, worked))
            if end >= self._due_ns or get_worker_info() is not None:  # a worker may be killed at any time
                self._due_ns = end + _WAITS_NS
                self.write()
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

    def _rank_of(self, trainer: int) -> int:
        return next((slot.rank for slot in self._shared.slots() if slot.pid == trainer), own_rank())

    @guarded("writing how long batches took")
    def write(self) -> None:
        """Write what waits. Harmless when repeated."""
        records = []
        with contextlib.suppress(IndexError):  # another thread may write too
            while self._waiting:
                records.append(self._waiting.popleft())
        if not records:
            return
        worker = get_worker_info() is not None
        trainer = os.getppid() if worker else os.getpid()
        if self._rank is None:
            self._rank = self._rank_of(trainer)
        if self._shared.pid_at(self._rank) not in (0, trainer):
            return  # of a process that is not recorded
        try:
            if self._descriptor < 0:
                folder = os.path.join(self._run_folder, f"rank{self._rank}")
                os.makedirs(folder, exist_ok=True)
                path = os.path.join(folder, FILE)
                self._descriptor = os.open(
                    path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o644
                )
            if os.fstat(self._descriptor).st_size >= _BYTES_AT_MOST:
                self._patches.restore()
                return
            pid = os.getpid()
            os.write(self._descriptor, b"".join(_RECORD.pack(*record, pid, worker) for record in records))
        except OSError:
            self._patches.restore()  # disk full: the script is not to suffer for it
