"""What sparse gradients of embedding tables and their updates take."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from diagnose.run.child.facts.usage import resident_bytes
from diagnose.run.child.products import sparse_update_trial
from diagnose.run.child.products.sparse_update_trial import sparse_updates_ns


def test_a_table_is_no_dearer_than_the_rows_in_use() -> None:
    """Of 200 times as many rows the same few are updated; finding them takes no longer."""
    indices = torch.arange(500)
    small, large = (sparse_updates_ns(indices, rows, 16) for rows in (1_000, 200_000))
    assert small is not None and large is not None
    assert large["SparseAdam"] < 5 * small["SparseAdam"]
    assert small["SGD"] < small["SparseAdam"]


def test_many_numbers_are_not_tried() -> None:
    assert sparse_updates_ns(torch.zeros(100_000, dtype=torch.int64), 1_000, 64) is None


def test_a_large_table_takes_memory_for_the_rows_in_use_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three of 64 MB, of which 500 rows of 64 bytes are used."""
    shortest_ns, resident = sparse_update_trial._shortest_ns, []

    def seen(*given: Any) -> int:
        took_ns = shortest_ns(*given)
        resident.append(resident_bytes())
        return took_ns

    monkeypatch.setattr(sparse_update_trial, "_shortest_ns", seen)
    sparse_updates_ns(torch.arange(500), 1_000, 16)  # what is used for the first time
    before = resident_bytes()
    sparse_updates_ns(torch.arange(500), 1_000_000, 16)
    assert max(resident[-2:]) - before < 32_000_000


def test_tables_larger_than_free_memory_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three of 1,000 x 16 numbers of 4 bytes."""
    indices = torch.arange(500)
    for free, is_tried in ((192_000, True), (191_999, False), (None, True)):
        monkeypatch.setattr(sparse_update_trial, "available_memory_bytes", lambda free=free: free)
        assert (sparse_updates_ns(indices, 1_000, 16) is not None) is is_tried
