"""What belongs to an operator, on a step of 1000 µs worked out by hand."""

from __future__ import annotations

from diagnose.judge.timelines import trace_from_text
from diagnose.measure.selection import Selection
from diagnose.measure.work import device_rows, in_rows, inside, outermost, work_time
from diagnose.trace.intervals import total

HOST = """
main  0    1000  step  ProfilerStep#1
main  100  200   op    aten::linear
main  110  100   op    aten::addmm
main  400  50    op    aten::addmm
"""
# addmm's kernels run 150–350 and, launched from the second one, 500–560; the last kernel is another
# operator's.
GPU = """
main  120  5    runtime  cudaLaunchKernel  {"correlation": 1}
main  410  5    runtime  cudaLaunchKernel  {"correlation": 2}
main  600  20   op       aten::relu
main  605  5    runtime  cudaLaunchKernel  {"correlation": 3}
gpu   150  200  kernel   gemm              {"correlation": 1}
gpu   500  60   kernel   gemm              {"correlation": 2}
gpu   620  70   kernel   relu              {"correlation": 3}
"""


def selection(text: str) -> Selection:
    return Selection(trace_from_text(text))


def test_an_operator_lies_inside_itself_and_all_around_it() -> None:
    view = selection(HOST)
    linear, addmm = view.name_matches("linear"), view.name_matches("addmm")
    assert inside(view, view.named(addmm), linear).tolist() == [True, False]
    assert inside(view, view.named(linear), linear).tolist() == [True]


def test_the_outermost_of_nested_operators_counts_once() -> None:
    view = selection(HOST)
    rows = outermost(view, view.name_matches("linear|addmm"))
    assert list(view.name[rows]) == ["aten::linear", "aten::addmm"]


def test_without_a_gpu_work_is_the_operators_own_time() -> None:
    view = selection(HOST)
    assert total(work_time(view, outermost(view, view.name_matches("linear|addmm")))) == 250_000


def test_with_a_gpu_work_is_what_the_operators_enqueued() -> None:
    view = selection(HOST + GPU)
    addmm = view.name_matches("addmm")
    assert len(device_rows(view, addmm)) == 2
    assert total(work_time(view, outermost(view, addmm))) == 260_000


def test_time_is_cut_to_the_ledgers_rows() -> None:
    view = selection(HOST + GPU)
    assert total(in_rows(view, view.span, "compute")) == 330_000
    assert total(in_rows(view, view.span, "exposed_copies")) == 0
