"""Rows picked by `x[index]`, by hand."""

from __future__ import annotations

import pytest

from diagnose.judge.timelines import measured_case

STEP = "main  0  10000  step  ProfilerStep#1\n"
BACKWARD = "autograd::engine::evaluate_function: IndexBackward0"


def picked(rows: str, whole: str = "[1000, 64]") -> str:
    """0.4 ms forward and 1.2 ms backward of 10."""
    return (
        f'{STEP}main  100  400  op  aten::index  {{"Input Dims": [{whole}, []], "Sequence number": 7}}\n'
        f'main  1000  2000  op  {BACKWARD}  {{"Sequence number": 7, "Fwd thread id": 1}}\n'
        f'main  1100  1200  op  aten::_index_put_impl_  {{"Input Dims": [{whole}, [], {rows}, [], []]}}'
    )


def test_forward_and_backward_are_counted_and_two_fifths_are_left() -> None:
    measured = measured_case({"timeline": picked("[5000, 64]")})
    assert measured.metric("row_indexing_ms") == pytest.approx(1.6)
    assert measured.metric("row_indexing_gain_share") == pytest.approx(0.16 * 0.6)


def test_with_one_thread_most_is_left() -> None:
    measured = measured_case({"timeline": picked("[5000, 64]"), "facts": {"thread_count": 1}})
    assert measured.metric("row_indexing_gain_share") == pytest.approx(0.16 * 0.25)


@pytest.mark.parametrize(
    ("rows", "whole"),
    [
        ("[50000]", "[1000, 64]"),  # pairs of indices
        ("[50, 100, 64]", "[1000, 64]"),  # an index of two dimensions
        ("[5000, 32]", "[1000, 64]"),  # along both dimensions
        ("[100, 64]", "[1000, 64]"),  # 6,400 numbers
    ],
)
def test_other_indices_are_left_alone(rows: str, whole: str) -> None:
    assert measured_case({"timeline": picked(rows, whole)}).metric("row_indexing_ms") == 0.0


def test_what_is_picked_before_the_first_step_counts_for_none() -> None:
    before = 'main  -9000  2000  op  IndexBackward0  {"Sequence number": 3, "Fwd thread id": 1}\n'
    puts_back = '"Input Dims": [[1000, 64], [], [5000, 64], [], []]'
    before += f"main  -8900  1200  op  aten::_index_put_impl_  {{{puts_back}}}\n"
    before += 'main  -9900  400  op  aten::index  {"Sequence number": 3}\n'
    measured = measured_case({"timeline": before + picked("[5000, 64]")})
    assert measured.metric("row_indexing_count_per_step") == 2  # the picking and its backward
