"""How long each batch took to fetch, measured where it is fetched: in the loader's workers, or in the training process."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from torch.utils.data import get_worker_info
from torch.utils.data._utils import fetch

from .live import Live
from .patching import Patches

_RECORD = struct.Struct("<QQII")


class FetchLog:
    """Appends one record a batch. Small appends are atomic, so processes share the file without a lock."""

    def __init__(self, path: str, live: Live) -> None:
        self._path, self._live = path, live
        self._descriptor = -1
        self._patches = Patches()

    def install(self) -> None:
        for fetcher in (fetch._MapDatasetFetcher, fetch._IterableDatasetFetcher):
            self._patches.replace(fetcher, "fetch", self._timed(fetcher.fetch))

    def remove(self) -> None:
        self._patches.restore()

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _timed(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def fetch(fetcher: Any, indices: Any) -> Any:
            begin = perf_counter_ns()
            batch = original(fetcher, indices)
            self._append(begin, perf_counter_ns() - begin)
            return batch

        return fetch

    def _append(self, begin_ns: int, duration_ns: int) -> None:
        worker = get_worker_info() is not None
        trainer = os.getppid() if worker else os.getpid()
        if self._live.recorder_pid not in (0, trainer):
            return  # another rank's
        try:
            if self._descriptor < 0:
                os.makedirs(os.path.dirname(self._path), exist_ok=True)
                self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o644)
            os.write(self._descriptor, _RECORD.pack(begin_ns, duration_ns, os.getpid(), worker))
        except OSError:
            self.remove()  # disk full: the script is not to suffer for it
