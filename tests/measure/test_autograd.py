"""Which operator each backward belongs to, on a step of 1000 µs worked out by hand."""

from __future__ import annotations

import pytest

from diagnose.judge.timelines import trace_from_text
from diagnose.measure.areas.launches import cell_time
from diagnose.measure.areas.operators import both_ways
from diagnose.measure.areas.user_code import model_forwards
from diagnose.measure.autograd import forward_of, operators_with_backward
from diagnose.measure.selection import Selection
from diagnose.trace.intervals import total

# the subtraction makes no node: it is noted with the number of the next one, the convolution's
UNTRAINED_BEFORE = """
main  0    1000  step  ProfilerStep#1
main  10   30    op    aten::sub     {"Sequence number": 7}
main  50   60    op    aten::conv2d  {"Sequence number": 7}
main  55   50    op    aten::convolution    {"Sequence number": 7}
main  600  200   op    autograd::engine::evaluate_function: ConvolutionBackward0  \
{"Sequence number": 7, "Fwd thread id": 1}
main  610  150   op    ConvolutionBackward0  {"Sequence number": 7, "Fwd thread id": 1}
main  620  100   op    aten::convolution_backward
"""


def selection(text: str) -> Selection:
    return Selection(trace_from_text(text))


def test_the_last_operator_of_a_number_has_its_backward() -> None:
    view = selection(UNTRAINED_BEFORE)
    assert list(view.name[operators_with_backward(view)]) == ["aten::convolution"]
    assert [int(row) for row in forward_of(view)[-3:]] == [int(operators_with_backward(view)[0])] * 3


@pytest.mark.parametrize(("operator", "us"), [("sub", 30), ("conv2d", 60 + 200), ("convolution", 50 + 200)])
def test_only_what_made_the_node_takes_the_time_of_its_backward(operator: str, us: float) -> None:
    view = selection(UNTRAINED_BEFORE)
    rows = view.named(view.name_matches(f"^aten::{operator}$"))
    assert total(both_ways(view, rows)) == us * 1000


def test_cells_without_gradients_have_no_backward() -> None:
    view = selection(UNTRAINED_BEFORE)
    assert total(cell_time(view, view.named(view.name_matches("^aten::sub$")))) == 0


def test_numbers_that_begin_anew_belong_to_the_operator_before_them() -> None:
    """As of a thread that lives for one step."""
    step = """
main  {0}00  1000  step  ProfilerStep#{0}
main  {0}10  30    op    aten::mm  {{"Sequence number": 0}}
main  {0}50  30    op    MmBackward0  {{"Sequence number": 0, "Fwd thread id": 1}}
"""
    view = selection("".join(step.format(number) for number in (10, 20)))
    products = view.named(view.name_matches("^aten::mm$"))
    backward = view.named(view.name_matches("^MmBackward0$"))
    assert forward_of(view)[backward].tolist() == products.tolist()


def test_a_frozen_model_that_is_called_before_another_one_is_not_trained() -> None:
    view = selection(
        """
main  0    1000  step  ProfilerStep#1
main  10   200   mark  forward@10
main  20   50    op    aten::conv2d  {"Sequence number": 7}
main  80   50    op    aten::conv2d  {"Sequence number": 7}
main  300  200   mark  forward@11
main  310  50    op    aten::conv2d  {"Sequence number": 7}
main  600  200   mark  backward@12
main  650  100   op    ConvolutionBackward0  {"Sequence number": 7, "Fwd thread id": 1}
"""
    )
    trained, untrained = model_forwards(view)
    lines = view.host["line"]
    assert (lines.iloc[trained].tolist(), lines.iloc[untrained].tolist()) == ([11], [10])
