"""What the first fetches of a loader's iterator tell, where the training process fetches: whether samples are
random, what collating takes of a fetch, and what samples begin with before anything random.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from .randomness import draws_random
from .sample_start import look_at_start


def watch_first_fetches(iterator: Any, record: dict[str, Any]) -> None:
    """Shadow the fetcher's method until it has been called three times: later batches cost nothing.

    ``draws_random``, ``collating_share`` and ``sample_start`` of the record stay None where worker processes
    fetch.
    """
    fetcher = getattr(iterator, "_dataset_fetcher", None)
    if fetcher is None:
        return
    fetch = fetcher.fetch
    # from the last on: the first fetch is slow in all that it does
    looks = [_look_at_start, _time_collating, _ask_for_randomness]

    def watched(indices: Any) -> Any:
        look = looks.pop()
        if not looks:
            vars(fetcher).pop("fetch", None)
        return look(fetcher, lambda: fetch(indices), record)

    fetcher.fetch = watched


def _ask_for_randomness(fetcher: Any, fetched: Callable[[], Any], record: dict[str, Any]) -> Any:
    if record["draws_random"]:
        return fetched()
    batch, record["draws_random"] = draws_random(fetcher.dataset, fetched)
    return batch


def _look_at_start(fetcher: Any, fetched: Callable[[], Any], record: dict[str, Any]) -> Any:
    made = record["sample_made"]
    if record["sample_start"] or not record["draws_random"] or not made:
        return fetched()
    batch, record["sample_start"] = look_at_start(fetcher.dataset, made, fetched)
    return batch


def _time_collating(fetcher: Any, fetched: Callable[[], Any], record: dict[str, Any]) -> Any:
    collate, collating_ns = fetcher.collate_fn, 0

    def timed(samples: Any) -> Any:
        nonlocal collating_ns
        begin = perf_counter_ns()
        batch = collate(samples)
        collating_ns = perf_counter_ns() - begin
        return batch

    fetcher.collate_fn = timed
    begin = perf_counter_ns()
    try:
        batch = fetched()
    finally:
        fetcher.collate_fn = collate
    with contextlib.suppress(ZeroDivisionError):
        record["collating_share"] = collating_ns / (perf_counter_ns() - begin)
    return batch
