"""What is noted of the start of a loader's iterator, on real ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

from diagnose.run.child.loading import starts
from diagnose.run.child.loading.starts import BATCHES_AFTER, watch_start


@pytest.fixture
def system_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system works 10 ms more, each time that it is asked, than the time before: 0, 10, 30, 60 ms…"""
    used: Iterator[float] = itertools.accumulate(itertools.count(0, 0.01))
    monkeypatch.setattr(starts, "_system_s", lambda: next(used))


def started(loader: DataLoader[Any], batches: int) -> tuple[dict[str, Any], list[Any]]:
    record: dict[str, Any] = {"iterator_start_ms": [], "iterator_start_ns": [], "system_ms_after_start": []}
    described: list[Any] = []
    iterator = iter(loader)
    watch_start(iterator, record, 5, described.append)
    for _ in itertools.islice(iterator, batches):
        pass
    assert "_next_data" not in vars(iterator) or batches <= BATCHES_AFTER
    return record, described


@pytest.mark.usefixtures("system_s")
def test_of_workers_the_systems_work_for_the_next_batches_is_noted() -> None:
    loader = DataLoader(torch.arange(20), batch_size=1, num_workers=1)
    record, described = started(loader, 20)
    assert [batch.tolist() for batch in described] == [[0]]
    assert record["iterator_start_ns"] == [5] and len(record["iterator_start_ms"]) == 1
    (system_ms,) = record["system_ms_after_start"]
    assert system_ms == pytest.approx([10.0 * batch for batch in range(1, 1 + BATCHES_AFTER)])


@pytest.mark.usefixtures("system_s")
def test_of_a_short_pass_what_there_is_of_it() -> None:
    record, _ = started(DataLoader(torch.arange(3), batch_size=1, num_workers=1), 20)
    assert record["system_ms_after_start"] == [pytest.approx([10.0, 20])]


@pytest.mark.parametrize("settings", [{}, {"num_workers": 1, "persistent_workers": True}])
def test_where_no_worker_ends_with_the_epoch_only_the_start_is_noted(settings: dict[str, Any]) -> None:
    record, described = started(DataLoader(torch.arange(3), batch_size=1, **settings), 2)
    assert len(described) == len(record["iterator_start_ms"]) == 1
    assert record["system_ms_after_start"] == []
