"""First calls: which calls they are, and which steps they spoil (synthetic timelines, microseconds)."""

from __future__ import annotations

import pytest

from diagnose.judge.timelines import trace_from_text
from diagnose.measure.first_calls import first_calls
from diagnose.measure.selection import Selection
from diagnose.measure.warm_up import without_warm_up
from diagnose.trace.intervals import total


def names_and_us(text: str) -> tuple[list[str], float]:
    view = Selection(trace_from_text(text))
    rows, time = first_calls(view)
    return view.host["name"].to_numpy()[rows].tolist(), total(time) / 1000


def test_the_first_launch_of_each_kernel_that_takes_half_a_millisecond_loads_it() -> None:
    text = """
        main  0     5000  step     ProfilerStep#1
        main  0     600   runtime  cudaLaunchKernel  {"correlation": 1}
        gpu   610   10    kernel   gemm  {"correlation": 1}
        main  700   700   runtime  cudaLaunchKernel  {"correlation": 2}
        gpu   1410  10    kernel   gemm  {"correlation": 2}
        main  1500  800   runtime  cudaLaunchKernel  {"correlation": 3}
        gpu   2310  10    kernel   relu  {"correlation": 3}
        main  2400  400   runtime  cudaLaunchKernel  {"correlation": 4}
        gpu   2810  10    kernel   norm  {"correlation": 4}
    """
    # gemm's first and relu's; norm's takes less, and gemm's second was delayed by something else
    assert names_and_us(text) == (["cudaLaunchKernel", "cudaLaunchKernel"], 600 + 800)


@pytest.mark.parametrize(
    ("first_us", "later_us", "counts"),
    [(12_000, 100, True), (12_000, 700, False), (9_000, 100, False)],  # 20 × 700 is more than 12,000
)
def test_another_call_takes_10_ms_and_20_times_as_long_as_later_ones(
    first_us: int, later_us: int, counts: bool
) -> None:
    text = f"""
        main  0      50000       step     ProfilerStep#1
        main  0      13000       op       aten::addmm
        main  10     {first_us}  runtime  cudaFree
        main  14000  900         op       aten::addmm
        main  14010  {later_us}  runtime  cudaFree
        main  15000  10          runtime  cudaLaunchKernel  {{"correlation": 1}}
        gpu   15100  10          kernel   gemm  {{"correlation": 1}}
    """
    assert names_and_us(text) == ((["cudaFree"], first_us) if counts else ([], 0))


def test_the_same_call_in_another_operator_has_a_first_time_of_its_own() -> None:
    text = """
        main  0      90000  step     ProfilerStep#1
        main  0      100    op       aten::mm
        main  10     50     runtime  cudaFree
        main  14000  21000  op       aten::cudnn_convolution
        main  14010  20000  runtime  cudaFree
        gpu   40000  10     kernel   gemm
    """
    assert names_and_us(text) == (["cudaFree"], 20000)


def test_an_operator_s_own_time_counts_where_later_calls_are_short() -> None:
    text = """
        main  0      90000  step     ProfilerStep#1
        main  0      30000  op       aten::cudnn_convolution
        main  100    10000  op       aten::contiguous
        main  40000  500    op       aten::cudnn_convolution
        gpu   41000  10     kernel   conv
    """
    # 30 ms without the 10 ms of the operator in it; that one is called once, which shows nothing
    assert names_and_us(text) == (["aten::cudnn_convolution"], 20000)


@pytest.mark.parametrize(
    "call", ["cudaDeviceSynchronize", "cudaMemcpyAsync", "hipMemcpyWithStream", "cudaGraphLaunch"]
)
def test_waits_and_graphs_are_no_first_calls(call: str) -> None:
    text = f"""
        main  0      90000  step     ProfilerStep#1
        main  0      30000  runtime  {call}
        gpu   30000  10     kernel   gemm
    """
    assert names_and_us(text) == ([], 0)


def test_without_a_gpu_there_are_none() -> None:
    assert names_and_us("main  0  90000  op  aten::mm\nmain  90000  10  op  aten::mm") == ([], 0)


# ---- steps

COLD = """
    main  {at}         1000  step     ProfilerStep#{n}
    main  {at}         {us}  runtime  cudaLaunchKernel  {{"correlation": {n}}}
    main  {at}         900   op       aten::mm
    gpu   {run}        20    kernel   {kernel}  {{"correlation": {n}}}
"""


def steps(*kernels: str) -> str:
    """A step of 1 ms for each kernel's name; the launch of one not seen before takes 600 µs, of others 10 µs."""
    return "".join(
        COLD.format(at=1000 * n, n=n, us=us, run=1000 * n + us + 10, kernel=kernel)
        for n, kernel in enumerate(kernels)
        for us in [10 if kernel in kernels[:n] else 600]
    )


@pytest.mark.parametrize(
    ("kernels", "complete"),
    [
        (("a", "a", "a"), [False, True, True]),
        (("a", "b", "a", "b"), [False, False, True, True]),
        (("a", "b", "a"), [True, True, True]),  # one warm step is too few
        (("a", "a"), [True, True]),
    ],
)
def test_steps_with_first_calls_are_left_out_if_two_others_remain(
    kernels: tuple[str, ...], complete: list[bool]
) -> None:
    trace = without_warm_up(trace_from_text(steps(*kernels)))
    assert trace.steps["complete"].tolist() == complete
    left_out = complete.count(False)
    told = [note for note in trace.notes if note.startswith(f"Left out: {left_out} of {len(kernels)} steps")]
    assert len(told) == (left_out > 0)
