"""Columns of millions of events, in blocks."""

from __future__ import annotations

import numpy as np
import pytest

from diagnose.measure import blocks


def test_sums_are_the_same_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven events in blocks of three: 1 + 4 of number 0, 2 + 6 + 7 of 2; 3 and 5 have no number."""
    monkeypatch.setattr(blocks, "AT_ONCE", 3)
    numbers = np.array([0, 2, -1, 0, -1, 2, 2], np.int8)
    assert blocks.sum_of_each(numbers, np.arange(1, 8), 4).tolist() == [5, 0, 15, 0]


def test_nothing_has_no_blocks() -> None:
    assert list(blocks.blocks(0)) == []
    assert blocks.sum_of_each(np.zeros(0, np.int32), np.zeros(0), 2).tolist() == [0, 0]
