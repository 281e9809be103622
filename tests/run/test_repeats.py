"""What is left of products whose rows are there many times, by hand."""

from __future__ import annotations

import pytest
import torch

from diagnose.run.child.repeats import RepeatedRows

STATE, KEYS, JOINED, WEIGHT = (
    torch.zeros(5, 6),
    torch.zeros(5, 8, 10),
    torch.zeros(5, 8, 16),
    torch.zeros(4, 16),
)
REPEATED = torch.zeros(5, 8, 6)


def test_of_each_round_only_the_rows_of_the_new_state_are_left() -> None:
    """Of 16 columns 6 are the state's, of whose rows one in 8 differs; 10 are the same in each round."""
    rows, left = RepeatedRows(), []
    for state in (100, 200, 300):
        rows.made("repeat", [STATE], [state], REPEATED, state + 1, 0)
        rows.made("cat", [REPEATED, KEYS], [state + 1, 7], JOINED, state + 2, 2)
        product = rows.product("linear", [JOINED, WEIGHT], [state + 2, 8])
        assert product is not None and product.copies == (state + 2, state + 1)
        assert product.copies_left == pytest.approx(4 / 16)
        left.append(product.left)
    assert left == pytest.approx([6 / 16 / 8 + 10 / 16, 6 / 16 / 8, 6 / 16 / 8])


def test_other_weights_have_met_no_row() -> None:
    rows = RepeatedRows()
    rows.made("cat", [REPEATED, KEYS], [1, 7], JOINED, 2, -1)
    assert rows.product("linear", [JOINED, WEIGHT], [2, 8]) is None  # all of it is new
    assert rows.product("linear", [JOINED, WEIGHT], [2, 9]) is None
