"""What sparse gradients of embedding tables and their updates take."""

from __future__ import annotations

import torch

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
