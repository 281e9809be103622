"""Backward passes that run twice, on steps of 1000 µs worked out by hand."""

from __future__ import annotations

import pytest

from diagnose.judge.timelines import measured_case
from diagnose.measure.measured import FACT_SELECTORS
from diagnose.measure.metrics import Measured
from diagnose.measure.missing import Missing


def gan(shared: str, again: str = '{"Sequence number": 7, "Fwd thread id": 1}') -> Measured:
    """The first backward runs forward 7 too (200 to 300), what sums its gradients (300 to 350), then 6.

    Later both run again.
    """
    timeline = f"""
    main  0    1000  step  ProfilerStep#1
    main  10   20    op    aten::addmm  {{"Sequence number": 6}}
    main  40   20    op    aten::mm  {{"Sequence number": 7}}
    main  70   20    op    aten::addmm  {{"Sequence number": 8}}
    main  100  90    op    AddmmBackward0  {{"Sequence number": 8, "Fwd thread id": 1}}
    {shared}
    main  500  50    mark  optimizer@31
    main  600  100   op    MmBackward0  {again}
    main  700  100   op    AddmmBackward0  {{"Sequence number": 6, "Fwd thread id": 1}}
    main  900  50    mark  optimizer@36
    """
    return measured_case({"timeline": timeline})


SHARED = """
    main  200  100   op    MmBackward0  {"Sequence number": 7, "Fwd thread id": 1}
    main  300  50    op    torch::autograd::AccumulateGrad
    main  360  40    op    AddmmBackward0  {"Sequence number": 6, "Fwd thread id": 1}
"""


def test_the_first_run_of_what_runs_again_after_an_update_counts_from_end_to_end() -> None:
    one = gan(SHARED)
    assert one.metric("repeated_backward_count_per_step") == 2
    assert one.metric("repeated_backward_ms") == pytest.approx(0.2)  # 200 to 400


def test_the_numbers_of_another_threads_forwards_are_not_the_training_threads() -> None:
    assert gan(SHARED.replace(": 7,", ": 9,"), again='{"Sequence number": 9, "Fwd thread id": 4}').metric(
        "repeated_backward_ms"
        # only 6, from 360 to 400
    ) == pytest.approx(0.04)


def test_a_detached_graph_runs_once() -> None:
    assert gan("").metric("repeated_backward_ms") == 0


def test_cleared_gradients_are_told_where_the_models_own_method_was_called() -> None:
    # the forward at line 20 is a method's of the model itself, which line 41 calls
    caller = {"file": "/job/search.py", "line": 41, "function": "step"}
    told = {"file": "/job/train.py", "line": 20, "function": "loss", "wasted_count": 2, "useful_count": 0}
    timeline = """
    main  0    1000  step  ProfilerStep#1
    main  50   100   mark  forward@20
    main  60   80    op    aten::mm  {"Sequence number": 5}
    main  540  250   op    MmBackward0  {"Sequence number": 5, "Fwd thread id": 1}
    """
    for more, expected in (({"caller": caller}, ("/job/search.py", 41)), ({}, ("/job/train.py", 20))):
        facts = {"cleared_gradients": [told | more]}
        found = FACT_SELECTORS["cleared_backward"].places(
            measured_case({"timeline": timeline, "facts": facts})
        )
        assert not isinstance(found, Missing)
        assert [(place.file, place.line) for place in found] == [expected]
        assert found[0].ms_per_step == pytest.approx(0.25)


def two_losses(between: str = "", later: str = "aten::add_") -> Measured:
    """Both pass through forward 7 (100 µs) and 6 (50 µs); the first also through 8, which is its own.

    ``later``: what the second pass does with its gradients.
    """
    return measured_case(
        {
            "timeline": f"""
    main  0    1000  step  ProfilerStep#1
    main  10   20    op    aten::addmm  {{"Sequence number": 6}}
    main  40   20    op    aten::mm  {{"Sequence number": 7}}
    main  70   20    op    aten::addmm  {{"Sequence number": 8}}
    main  95   300   mark  backward@30
    main  100  90    op    AddmmBackward0  {{"Sequence number": 8, "Fwd thread id": 1}}
    main  200  100   op    MmBackward0  {{"Sequence number": 7, "Fwd thread id": 1}}
    main  300  20    op    torch::autograd::AccumulateGrad
    main  330  50    op    AddmmBackward0  {{"Sequence number": 6, "Fwd thread id": 1}}
    main  382  10    op    torch::autograd::AccumulateGrad
    {between}
    main  500  300   mark  backward@31
    main  600  100   op    MmBackward0  {{"Sequence number": 7, "Fwd thread id": 1}}
    main  700  20    op    torch::autograd::AccumulateGrad
    main  705  10    op    {later}
    main  720  50    op    AddmmBackward0  {{"Sequence number": 6, "Fwd thread id": 1}}
    main  775  10    op    torch::autograd::AccumulateGrad
    main  777  5     op    {later}
    main  900  50    mark  optimizer@36
    """
        }
    )


def test_what_two_losses_share_runs_once_too_often_by_the_line_of_the_first_pass() -> None:
    found = FACT_SELECTORS["separate_backward"].places(two_losses())
    assert not isinstance(found, Missing)
    (place,) = found  # 200 to 300 and 330 to 380
    assert (place.line, place.count_per_step) == (30, 1) and place.ms_per_step == pytest.approx(0.15)


@pytest.mark.parametrize("operator", ["aten::clone", "aten::zero_", "aten::linalg_vector_norm"])
def test_what_is_done_with_one_losses_gradients_needs_the_pass(operator: str) -> None:
    assert two_losses(f"main  400  5    op    {operator}").metric("separate_backward_ms") == 0


def test_gradients_that_were_taken_from_the_parameters_need_the_pass() -> None:
    """`parameter.grad = None` after the first pass: the second finds nothing to add to."""
    assert two_losses(later="aten::detach").metric("separate_backward_ms") == 0
