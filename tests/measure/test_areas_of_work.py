"""Selectors that need more than one line, on timelines small enough to add up by hand."""

from __future__ import annotations

import pytest

from diagnose.judge.timelines import measured_case
from diagnose.measure.areas.memory import steady_growth
from diagnose.measure.measured import Measured


def share(timeline: str, selector: str) -> float:
    return measured(timeline).number(f"{selector}_share")


def measured(timeline: str) -> Measured:
    return measured_case({"timeline": "main  0  1000  step  ProfilerStep#1\n" + timeline})


def test_a_recurrent_cell_loop_includes_the_python_between_cells_and_their_backward() -> None:
    cells = 'main  0  5  op  aten::lstm_cell  {"repeat": 12, "every": 10}\n'
    inner = 'main  1  3  op  aten::addmm  {"repeat": 12, "every": 10, "Sequence number": 7}\n'
    returned = (
        'other  500  30  op  autograd::engine::evaluate_function: AddmmBackward0  {"Sequence number": 7}\n'
    )
    foreign = (
        'other  600  30  op  autograd::engine::evaluate_function: MulBackward0  {"Sequence number": 8}\n'
    )
    assert share(cells + inner + returned + foreign, "rnn_cell_loop") == pytest.approx((115 + 30) / 1000)


def test_two_short_runs_of_cells_are_no_loop() -> None:
    cells = 'main  0  5  op  aten::gru_cell  {"repeat": 12, "every": 10}\n'
    assert share(cells + "main  66  2  op  aten::softmax", "rnn_cell_loop") == 0


def test_dispatch_is_what_large_operators_and_long_gaps_leave() -> None:
    ops = (
        "main  0  1000  mark  forward@3\nmain  0  10  op  aten::add\nmain  20  10  op  aten::mul\nmain  30  "
        "30  op  aten::mm\n"
    )
    later = "main  500  10  op  aten::relu"
    # 0–80 less the large mm, in which each operator is followed by at most 50 µs of Python; 500–560
    assert share(ops + later, "small_ops") == pytest.approx((80 + 30 - 30 + 60) / 1000)


def test_a_nested_operator_counts_by_its_own_part() -> None:
    nested = "main  0  1000  mark  forward@3\nmain  0  30  op  aten::linear\nmain  2  15  op  aten::addmm\n"
    assert measured(nested).metric("small_ops_count_per_step") == 1


def test_growing_cats_are_told_apart_by_step_and_size() -> None:
    pieces = "\n".join(
        f'main  {20 * i}  5  op  aten::cat  {{"Input Dims": [[[{i}, 4], [1, 4]], []]}}' for i in range(1, 13)
    )
    alike = "\n".join(
        f'main  {20 * i + 10}  5  op  aten::cat  {{"Input Dims": [[[900, 4], [1, 4]], []]}}'
        for i in range(1, 13)
    )
    assert measured(f"{pieces}\n{alike}").metric("growing_cats_count_per_step") == 12


def test_time_between_graphs_is_inside_one_forward() -> None:
    region = "op  CompiledFunction"
    timeline = (
        f"main  0  300  mark  forward@3\nmain  10  90  {region}\nmain  140  100  {region}\nmain  400  "
        "300  mark  forward@3\n"
    )
    assert share(
        timeline + f"main  450  100  {region}\nmain  900  50  op  aten::mm", "between_graphs"
    ) == pytest.approx(40 / 1000)


@pytest.mark.parametrize(
    ("series", "slope"),
    [
        ([10 * i for i in range(30)], 10),
        ([10 * min(i, 19) for i in range(30)], 0),
        ([0] * 12 + [500] * 18, 0),
        ([10 * i + (300 if i in (4, 15, 28) else 0) for i in range(30)], 10),
        ([-5 * i for i in range(30)], 0),
    ],
    ids=["steady", "a warm-up", "a jump", "outliers", "falling"],
)
def test_steady_growth(series: list[float], slope: float) -> None:
    assert steady_growth(series, range(30)) == pytest.approx(slope)
    # memory was read after every fourth step
    assert steady_growth(series, range(0, 120, 4)) == pytest.approx(slope / 4)


def test_steady_growth_of_memory_that_was_read_now_and_then() -> None:
    steps = [step for step in range(60) if step % 3]
    assert steady_growth([7 * step for step in steps], steps) == pytest.approx(7)
