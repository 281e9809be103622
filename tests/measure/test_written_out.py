"""Functions and loops found by the order of their operators, worked out by hand."""

from __future__ import annotations

import pytest

from diagnose.judge.timelines import measured_case
from diagnose.measure.measured import Measured


def measured(*ops: str, shape: str = "[64, 8]") -> Measured:
    """One step of 1,000 µs in which these operators run on end, 10 µs each."""
    lines = [
        f'main  {100 + 10 * at}  10  op  aten::{name}  {{"Input Dims": [{shape}]}}'
        for at, name in enumerate(ops)
    ]
    return measured_case({"timeline": "\n".join(["main  0  1000  step  ProfilerStep#1", *lines])})


@pytest.mark.parametrize(
    ("ops", "function"),
    [
        ("mul pow mul add mul tanh add mul", "GELU"),
        ("mul mul mul mul add mul tanh add mul", "GELU"),
        ("mul div erf add mul", "GELU"),
        ("mean std sub mul add div add", "normalisation"),
        ("mean var sub add sqrt div mul add", "normalisation"),
        ("mean sub pow mean sub add sqrt div", "normalisation"),
        ("mean mean sub pow mean mean sub mul add pow div add", "normalisation"),  # over two dimensions
        ("mean var sub add rsqrt mul", "normalisation"),
        ("max sub exp sum div", "softmax"),
        ("exp sum div", "softmax"),
        ("exp sum log sub", "log-softmax"),
        ("gt exp sub where", "ELU"),
        ("gt mul where", "leaky ReLU"),
    ],
)
def test_a_function_is_known_by_the_order_of_its_operators(ops: str, function: str) -> None:
    assert measured("linear", *ops.split(), "linear").metric("hand_written_function") == function


@pytest.mark.parametrize(
    "ops",
    [
        "mul sigmoid mul",  # a gate, or silu
        "pow mean add rsqrt mul",  # RMS norm: no quicker as one on a CPU
        "sub pow mean",  # a squared error
        "mean sub mean add",  # sums of losses
        "tanh mul add tanh mul",  # a cell's gates
        "sub abs mean mul add",
        "exp mul add",  # a sample of a normal distribution
        "exp sum mean",
    ],
)
def test_other_arithmetic_is_left_alone(ops: str) -> None:
    assert measured("linear", *ops.split(), "linear").metric("hand_written_share") == 0


@pytest.mark.parametrize(
    ("ops", "counted"),
    [
        ("log_softmax clone fill_ scatter_ fill_ nonzero index_fill_ kl_div", 2),  # scatter_, kl_div
        ("zeros_like scatter mul rsub mul div add log_softmax ne mul sum neg", 7),
        ("log_softmax one_hot mul add mul sum", 3),
    ],
)
def test_smoothed_labels_are_known_by_what_they_are_made_of(ops: str, counted: int) -> None:
    found = measured(*ops.split(), shape="[64, 256]")
    assert found.metric("hand_written_function") == "label smoothing"
    assert found.number("hand_written_share") == pytest.approx(counted * 0.01)


@pytest.mark.parametrize(
    "ops",
    [
        "log_softmax softmax kl_div",  # of a teacher
        "one_hot mul sum",  # a pick
        "log_softmax one_hot mul sum",
        "scatter mul add sum",
        "scatter mul rsub add mul sum",  # of no logarithm
        "zeros scatter softmax kl_div",
    ],
)
def test_other_uses_of_classes_are_left_alone(ops: str) -> None:
    assert measured(*ops.split(), shape="[64, 256]").metric("hand_written_share") == 0


def test_views_and_numbers_between_the_operators_do_not_matter() -> None:
    assert measured("exp", "view", "sum", "unsqueeze", "div").number("hand_written_share") == pytest.approx(
        0.03
    )


def test_the_backward_of_the_function_counts() -> None:
    ops = (
        'main  100  10  op  aten::exp  {"Sequence number": 7}\n'
        'main  110  10  op  aten::sum  {"Sequence number": 8}\n'
        'main  120  10  op  aten::div  {"Sequence number": 9}\n'
        "main  500  40  op  autograd::engine::evaluate_function: ExpBackward0  "
        '{"Sequence number": 7, "Fwd thread id": 1}\n'
        "main  600  40  op  autograd::engine::evaluate_function: MmBackward0  "
        '{"Sequence number": 3, "Fwd thread id": 1}\n'
    )
    found = measured_case({"timeline": "main  0  1000  step  ProfilerStep#1\n" + ops})
    assert found.number("hand_written_share") == pytest.approx((30 + 40) / 1000)


def test_a_loop_over_parameters_lasts_from_its_first_operator_to_the_end_of_its_last() -> None:
    ops = (
        'main  100  6  op  aten::mul_  {"repeat": 6, "every": 14}\n'
        'main  107  6  op  aten::add_  {"repeat": 6, "every": 14}\n'
        "main  300  600  mark  forward@20\n"
    )
    found = measured_case({"timeline": "main  0  1000  step  ProfilerStep#1\n" + ops})
    assert found.number("parameter_loop_share") == pytest.approx((5 * 14 + 13) / 1000)
    assert found.number("small_ops_share") == 0  # they have a rule of their own
