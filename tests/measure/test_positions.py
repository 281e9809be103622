"""Which part of a model works on its sequences, worked out by hand: 100 rows of 40 positions."""

from __future__ import annotations

from typing import Any

import pytest

from diagnose.judge.timelines import measured_case
from diagnose.measure.areas.positions import share_of_positions
from diagnose.measure.measured import FACT_SELECTORS
from diagnose.measure.missing import Missing

# 300 of 400 us of the forward, and as much of the backward, are of an operator that may be given positions
STEPS = """
main  0    1000  step  ProfilerStep#1
main  0    400   mark  forward@20
main  0    300   op    aten::linear  {"Sequence number": 5, %s}
main  300  100   op    aten::linear  {"Sequence number": 6, "Input Dims": [[100, 64], [32, 64], [32]]}
main  500  400   mark  backward@21
main  500  100   op    autograd::engine::evaluate_function: AddmmBackward0  {"Sequence number": 6, "Fwd thread id": 1}
main  600  300   op    autograd::engine::evaluate_function: AddmmBackward0  {"Sequence number": 5, "Fwd thread id": 1}
"""


def measured(dims: str) -> Any:
    return measured_case({"timeline": STEPS % f'"Input Dims": {dims}', "facts": {}})


@pytest.mark.parametrize(
    "dims",
    [
        "[[100, 40, 64], [32, 64]]",
        "[[4000, 64], [32, 64]]",  # all positions of all rows
        "[[100, 39, 64], [32, 64]]",  # all but the first
        "[[100, 64, 20], [32, 64, 3]]",  # of a layer with a stride
        "[[[100, 40, 8], [100, 40, 8]], []]",  # a list of tensors
        "[]",  # not known
    ],
)
def test_operators_with_a_dimension_of_positions(dims: str) -> None:
    assert share_of_positions(measured(dims), 40.0) == pytest.approx(300 / 400)


def test_all_of_a_step_is_of_positions_where_no_length_is_known_or_no_operator_has_it() -> None:
    """Lengths that differ from batch to batch are an average."""
    assert share_of_positions(measured("[[100, 40, 64], [32, 64]]"), 39.6) == 1.0
    assert share_of_positions(measured("[[100, 64], [32, 64]]"), 40.0) == 1.0


def test_where_lengths_differ_calls_that_are_the_same_in_each_step_do_not_count() -> None:
    """Of 900 us in two steps 300 have the shapes of the step's length, 200 are as many calls as positions,
    and 400 are of a table that each step goes through.
    """
    steps = """
main  0     1000  step  ProfilerStep#1
main  0     450   mark  forward@20
main  0     150   op    aten::linear  {"Input Dims": [[100, 40, 64], [32, 64]]}
main  150   10    op    aten::gru_cell  {"Input Dims": [[100, 64], [32, 64]], "repeat": 8, "every": 10}
main  250   200   op    aten::linear  {"Input Dims": [[4000, 64], [32, 64]]}
main  1000  1000  step  ProfilerStep#2
main  1000  470   mark  forward@20
main  1000  150   op    aten::linear  {"Input Dims": [[100, 50, 64], [32, 64]]}
main  1150  10    op    aten::gru_cell  {"Input Dims": [[100, 64], [32, 64]], "repeat": 12, "every": 10}
main  1270  200   op    aten::linear  {"Input Dims": [[4000, 64], [32, 64]]}
"""
    told = measured_case({"timeline": steps, "facts": {}})
    assert share_of_positions(told, 45.5) == pytest.approx(500 / 900)


def test_calls_of_a_loop_over_the_positions_count() -> None:
    """Twenty of 10 us each, and a layer of 200 us that is called once."""
    steps = """
main  0    1000  step  ProfilerStep#1
main  0    400   mark  forward@20
main  0    10    op    aten::linear  {"Input Dims": [[101, 64], [64, 64]], "repeat": 20, "every": 10}
main  200  200   op    aten::linear  {"Input Dims": [[101, 64], [32, 64]]}
"""
    told = measured_case({"timeline": steps, "facts": {}})
    assert share_of_positions(told, 20.0) == pytest.approx(200 / 400)


def test_padding_costs_what_works_on_positions() -> None:
    """A quarter of the positions: of 600 of 800 us."""
    padded = {"file": "/job/train.py", "line": 20, "function": "main", "batches": 8}
    sequences = {"longer": [], "padded": [padded | {"length": 40.0, "longest": 30.0, "filled": 0.2}]}
    steps = STEPS % '"Input Dims": [[100, 40, 64], [32, 64]]'
    told = measured_case({"timeline": steps, "facts": {"forward": {"sequences": sequences}}})
    places = FACT_SELECTORS["padded_batches"].places(told)
    assert not isinstance(places, Missing)
    assert places[0].ms_per_step == pytest.approx(0.25 * 0.6)
