"""Operators and kernels of steps worked out by hand (microseconds)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from diagnose.judge.timelines import measured_case, trace_from_text
from diagnose.measure.ledger import BUSY_ROWS
from diagnose.measure.measured import Measured
from diagnose.measure.recording import Recording
from diagnose.measure.totals import MOST, kernel_totals, operator_totals

HOST = """
main  0    1000  step        ProfilerStep#1
main  100  200   op          aten::linear
main  110  100   annotation  record
main  120  40    op          aten::addmm
main  170  30    op          aten::addmm
main  400  50    op          aten::addmm
main  990  40    op          aten::mul
"""


def measured(text: str) -> Measured:
    return Measured(Recording(source=Path("x"), timeline=trace_from_text(text)))


def us(totals: list[Any], name: str) -> dict[str, float]:
    return {one.name: round(getattr(one, name) * 1000, 6) for one in totals}


def test_an_operators_own_time_leaves_out_operators_it_calls() -> None:
    """linear 200 less 40 and 30, which lie in an annotation; of mul 10 lie in the step."""
    found = operator_totals(measured(HOST))
    assert [one.name for one in found] == ["aten::linear", "aten::addmm", "aten::mul"]
    assert us(found, "self_ms") == {"aten::linear": 130, "aten::addmm": 120, "aten::mul": 10}
    assert {one.name: one.calls_per_step for one in found} == {
        "aten::linear": 1,
        "aten::addmm": 3,
        "aten::mul": 1,
    }


def test_an_operator_that_calls_itself_counts_once() -> None:
    found = operator_totals(
        measured("""
        main  0    1000  step  ProfilerStep#1
        main  100  200   op    aten::to
        main  150  100   op    aten::to
        """)
    )
    assert us(found, "self_ms") == {"aten::to": 200}


def test_the_mean_of_two_steps_counts() -> None:
    found = operator_totals(
        measured("""
        main  0     1000  step  ProfilerStep#1
        main  1000  1000  step  ProfilerStep#2
        main  100   200   op    aten::mm
        main  1300  20    op    aten::add
        """)
    )
    assert us(found, "self_ms") == {"aten::mm": 100, "aten::add": 10}
    assert found[0].calls_per_step == 0.5


def test_threads_that_neither_train_nor_launch_do_not_count() -> None:
    found = operator_totals(measured(HOST + "worker  100  800  op  aten::stack\n"))
    assert "aten::stack" not in us(found, "self_ms")


def test_times_are_those_of_the_plain_step() -> None:
    """The recorded step takes 1 ms, the plain one 0.5: all of it is one operator."""
    text = """
    main  0    1000  step  ProfilerStep#1
    main  0    1000  op    aten::mm
    """
    assert us(operator_totals(measured_case({"timeline": text, "plain_ms": [0.5] * 4})), "self_ms") == {
        "aten::mm": 500
    }


def test_beside_a_gpu_the_hosts_times_shrink_as_the_step_does() -> None:
    """The recorded step takes 1 ms, the plain one 0.8; the kernel takes as long without the profiler."""
    text = """
    main  0    1000  step     ProfilerStep#1
    main  0    500   op       aten::mm
    main  10   5     runtime  cudaLaunchKernel  {"correlation": 1}
    gpu   20   400   kernel   gemm  {"correlation": 1}
    """
    recording = measured_case({"timeline": text, "plain_ms": [0.8] * 4})
    assert us(operator_totals(recording), "self_ms") == {"aten::mm": 400}
    assert [round(one.ms * 1000, 6) for one in kernel_totals(recording)] == [400]


GPU = """
main  0    1000  step     ProfilerStep#1
main  0    10    op       aten::mm
main  1    1     runtime  cudaLaunchKernel  {"correlation": 1}
main  3    1     runtime  cudaLaunchKernel  {"correlation": 2}
main  20   10    runtime  cudaLaunchKernel  {"correlation": 3}
main  40   10    runtime  cudaMemcpyAsync   {"correlation": 4}
main  60   10    runtime  cudaMemsetAsync   {"correlation": 5}
gpu   100  300   kernel   volta_sgemm_128x32_nt  {"correlation": 1}
gpu   300  220   kernel   void relu<c10::Half>(int)  {"correlation": 2, "stream": 22}
gpu   400  300   kernel   ncclDevKernel_AllReduce_Sum_f32  {"correlation": 3, "stream": 20}
gpu   650  150   memcpy   Memcpy HtoD (Pinned -> Device)  {"correlation": 4, "stream": 21}
gpu   900  90    memset   Memset (Device)  {"correlation": 5}
"""


def test_time_in_which_several_run_counts_once() -> None:
    """The product 100–400; relu 300–520 from 400; the collective 400–700 from 520; the copy 650–800 from 700."""
    recording = measured(GPU)
    found = kernel_totals(recording)
    assert [
        (one.label.name, one.label.kind, round(one.ms * 1000, 6), one.mean_ms * 1000) for one in found
    ] == [
        ("volta_sgemm_128x32_nt", "kernel", 300, 300),
        ("ncclDevKernel_AllReduce_Sum_f32", "communication", 180, 300),
        ("relu", "kernel", 120, 220),
        ("Memcpy HtoD (Pinned -> Device)", "copy", 100, 150),
        ("Memset (Device)", "set", 90, 90),
    ]
    assert sum(one.ms for one in found) == pytest.approx(sum(map(recording.row_ms, BUSY_ROWS)))
    assert [one.label.number_format for one in found] == ["fp32", None, "fp16", None, None]
    assert [one.label.tensor_cores for one in found] == [False, None, None, None, None]


def test_kernels_of_one_short_name_and_format_are_one_row() -> None:
    found = kernel_totals(
        measured("""
        main  0    1000  step     ProfilerStep#1
        main  1    1     runtime  cudaLaunchKernel  {"correlation": 1}
        main  3    1     runtime  cudaLaunchKernel  {"correlation": 2}
        main  5    1     runtime  cudaLaunchKernel  {"correlation": 3}
        gpu   100  100   kernel   void softmax<float, 1>(int)  {"correlation": 1}
        gpu   300  50    kernel   void softmax<float, 2>(int)  {"correlation": 2}
        gpu   400  20    kernel   void softmax<double, 2>(int)  {"correlation": 3}
        """)
    )
    assert [(one.label.number_format, one.count_per_step) for one in found] == [("fp32", 2), ("fp64", 1)]
    assert [one.mean_ms for one in found] == pytest.approx([0.075, 0.02])


def test_the_costliest_are_listed() -> None:
    ops = "".join(f"main  {100 * at + 1}  {at + 1}  op  aten::op{at}\n" for at in range(MOST + 5))
    found = operator_totals(measured(f"main  0  9000  step  ProfilerStep#1\n{ops}"))
    assert [one.name for one in found] == [f"aten::op{at}" for at in range(MOST + 4, 4, -1)]


def test_without_steps_or_a_gpu_there_are_none() -> None:
    assert operator_totals(Measured(Recording(source=Path("x"), timeline=None))) == []
    assert kernel_totals(Measured(Recording(source=Path("x"), timeline=None))) == []
    assert kernel_totals(measured(HOST)) == []
