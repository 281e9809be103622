"""Fourier transforms of awkward lengths, by hand."""

from __future__ import annotations

import pytest

from diagnose.judge.culprits import culprits
from diagnose.judge.timelines import measured_case
from diagnose.measure.areas.transforms import largest_prime_factor
from diagnose.measure.selection import SELECTORS


@pytest.mark.parametrize(
    ("number", "factor"),
    [(1, 1), (2, 2), (2048, 2), (2002, 13), (1998, 37), (1999, 1999), (3997, 571), (9, 3)],
)
def test_the_largest_prime_factor(number: int, factor: int) -> None:
    assert largest_prime_factor(number) == factor


def test_what_a_good_length_would_take_is_left() -> None:
    # 32 × 8 × 1999 numbers, 3.5 ns each: 1.79 of 7 ms
    one = measured_case(
        {
            "timeline": "main  0  10000  step  ProfilerStep#1\n"
            'main  100  7000  op  aten::_fft_r2c  {"Input Dims": [[32, 8, 1999], [], [], []]}'
        }
    )
    assert one.metric("slow_transforms_ms") == pytest.approx(7.0)
    assert one.metric("slow_transforms_left") == pytest.approx(32 * 8 * 1999 * 3.5e-6 / 7)
    assert one.metric("slow_transforms_length") == "1999"


@pytest.mark.parametrize(
    ("rows", "threads", "cores", "at_once"), [(256, 2, 4, 2), (256, 4, 2, 2), (1, 2, 4, 1), (256, 0, 4, 1)]
)
def test_threads_compute_transforms_side_by_side(rows: int, threads: int, cores: int, at_once: int) -> None:
    """As many as there are, but no more than cores or transforms. 511,744 numbers in 4 ms are 7.8 ns each:
    more than twice 3.5 ns, or 3.5 ns by two threads.
    """
    length = 1999 * 256 // rows if rows > 1 else 511_747  # 37 × 13,831
    shape = [rows, length] if rows > 1 else [length]
    one = measured_case(
        {
            "facts": {"thread_count": threads, "cpu_core_count": cores},
            "timeline": f"""
            main  0   10000  step  ProfilerStep#1
            main  100 4000   op    aten::_fft_r2c  {{"Input Dims": [{shape}, [], [], []]}}
            """,
        }
    )
    left = rows * length * 3.5e-6 / at_once / 4
    assert one.metric("slow_transforms_left") == pytest.approx(left)


def test_a_transform_of_the_backward_is_of_the_line_whose_backward_it_is() -> None:
    one = measured_case(
        {
            "timeline": "main  0  10000  step  ProfilerStep#1\n"
            "main  0    4000  mark  forward@20\n"
            'main  100  3800  op  aten::_fft_r2c  {"Input Dims": [[32, 8, 1999], [], [], []], "Sequence number": 7}\n'
            "main  4100 5900  mark  backward@30\n"
            "main  4200 5000  op  autograd::engine::evaluate_function: FftR2CBackward0"
            '  {"Sequence number": 7}\n'
            'main  4300 4800  op  aten::_fft_r2c  {"Input Dims": [[32, 8, 1999], [], [], []]}\n'
        }
    )
    (blamed,) = culprits(one, SELECTORS["slow_transforms"], 8.6)
    assert (blamed.line, blamed.ms_per_step) == (20, pytest.approx(8.6))


def test_a_transform_before_the_first_step_counts_for_none() -> None:
    transform = 'main  {}  {}  op  aten::_fft_r2c  {{"Input Dims": [[32, 8, 1999], [], [], []]}}\n'
    one = measured_case(
        {
            "timeline": transform.format(100, 9000)
            + "main  10000  10000  step  ProfilerStep#1\n"
            + transform.format(11000, 7000)
            + "main  20000  10000  step  ProfilerStep#2\n"
            + transform.format(21000, 7000)
        }
    )
    assert one.metric("slow_transforms_count_per_step") == 1
    assert one.metric("slow_transforms_left") == pytest.approx(32 * 8 * 1999 * 3.5e-6 / 7)
