"""How long a loader's iterator takes to bring its first batch, and what the system works for the next ones.

A worker that is forked shares the memory of the training process until one of the two writes to it: the
system first copies each page that training writes next. That is work of the training process, in the steps
after the start.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

BATCHES_AFTER = 8  # as many are looked at after the first
EPOCHS_AT_MOST = 20
_STARTS_AT_MOST = 1000


def watch_start(
    iterator: Any, record: dict[str, Any], begin_ns: int, describe: Callable[[Any], None]
) -> None:
    """Shadow the iterator's own method until it has brought as many batches as are looked at: one, and some
    more where workers were started. Later batches cost nothing.

    ``describe`` is given the first batch.
    """
    known = weakref.ref(iterator)
    starts_workers = bool(getattr(iterator, "_num_workers", 0)) and not getattr(
        iterator, "_persistent_workers", False
    )
    system_ms: list[float] = []
    used_s = -1.0  # not yet any

    def next_data() -> Any:
        nonlocal used_s
        owner: Any = known()
        vars(owner).pop("_next_data", None)
        batch = owner._next_data()
        with contextlib.suppress(Exception):
            now_s = _system_s()
            if used_s < 0:
                _note_start(record, begin_ns, system_ms if starts_workers else None)
                describe(batch)
            else:
                system_ms.append(1e3 * (now_s - used_s))
            used_s = now_s
            if starts_workers and len(system_ms) < BATCHES_AFTER:
                owner._next_data = next_data
        return batch

    iterator._next_data = next_data


def _note_start(record: dict[str, Any], begin_ns: int, system_ms: list[float] | None) -> None:
    if len(record["iterator_start_ms"]) < EPOCHS_AT_MOST:
        record["iterator_start_ms"].append((perf_counter_ns() - begin_ns) / 1e6)
        if system_ms is not None and resource is not None:
            record["system_ms_after_start"].append(system_ms)
    if len(record["iterator_start_ns"]) < _STARTS_AT_MOST:
        record["iterator_start_ns"].append(begin_ns)


def _system_s() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_stime if resource is not None else 0.0
