"""A recording that lost a part: the steps it is lost from do not count, and a note says so."""

from __future__ import annotations

import io
import json

from diagnose.trace.notes import CUT_OFF, DAMAGED
from diagnose.trace.reader import read_trace
from diagnose.trace.schema import Trace
from tests.trace.build import Json, event, kernel, launch, read

GPU = [{"id": 0, "name": "A100"}]


def step(number: int, launches: bool = True) -> tuple[list[Json], list[Json]]:
    """A step of 100 µs from 100 times its number on, with an operator of 80 that launches a kernel: what a
    profiler writes first of it, and what it writes last.
    """
    at = 100 * number
    host = [
        event(f"ProfilerStep#{number}", at, 100, "user_annotation"),
        event("aten::mm", at + 5, 80),
        event("aten::sum", at + 90, 5),
    ]
    return host, [launch(at + 10, 5, number + 1), kernel("gemm", at + 20, 60, number + 1)] if launches else []


def in_order(*steps: tuple[list[Json], list[Json]]) -> list[Json]:
    """Operators first and GPU work last, as Kineto writes them."""
    return [entry for part in (0, 1) for one in steps for entry in one[part]]


def cut(events: list[Json], **top: object) -> Trace:
    """The trace of a file that ends after these events."""
    whole = json.dumps({"deviceProperties": GPU, **top, "traceEvents": events})
    return read_trace(io.BytesIO(whole.removesuffix("]}").encode()))


def complete(trace: Trace) -> list[int]:
    return [int(number) for number in trace.steps["number"][trace.steps["complete"]]]


def doubt(trace: Trace) -> tuple[str, str]:
    (note,) = (note for note in trace.doubts if note.code)
    return note.code, note.text


def test_a_file_with_its_end_has_all_its_steps() -> None:
    trace = read(*in_order(*map(step, range(4))), deviceProperties=GPU)
    assert complete(trace) == [0, 1, 2, 3]
    assert trace.doubts == ()


def test_of_a_cut_file_the_steps_before_the_last_gpu_work_count() -> None:
    """The kernel of step 2, launched at 210 µs, is the last that was written: before that the file is whole."""
    trace = cut(in_order(*map(step, range(5)))[:-4])
    assert complete(trace) == [0, 1]
    assert doubt(trace) == (
        CUT_OFF,
        "The file has no end: 3 of 5 steps lost a part and do not count. Copy or record it again.",
    )


def test_a_cut_file_without_its_gpu_work_has_no_step_unless_there_is_no_gpu() -> None:
    host = in_order(*(step(number, launches=False) for number in range(4)))
    assert complete(cut(host)) == []
    assert doubt(cut(host))[1] == (
        "The file has no end, and no step in it is whole. Copy or record it again."
    )
    # the last operator began at 390 µs
    assert complete(cut(host, deviceProperties=[])) == [0, 1, 2]


def test_a_cut_file_whose_events_are_in_no_order_has_no_step() -> None:
    """The kernel of step 0 stands behind that of step 3, so any other might have been lost."""
    events = in_order(*map(step, range(5)))
    assert complete(cut([*events[2:-2], *events[:2], events[15], events[16]])) == []


def test_a_cut_file_without_marks_is_no_step() -> None:
    trace = cut([event("aten::mm", 0, 50), launch(10, 5, 1), kernel("gemm", 20, 20, 1)])
    assert trace.step_source == "whole trace"
    assert complete(trace) == []


def test_steps_whose_launches_have_no_gpu_work_at_the_end_do_not_count() -> None:
    events = in_order(*map(step, range(4)))
    trace = read(*(e for e in events if e["cat"] != "kernel" or e["ts"] < 200))
    assert complete(trace) == [0, 1]
    assert doubt(trace)[1] == (
        "A part of the GPU work was not recorded: 2 of 4 steps lost a part and do not count. "
        "Copy or record it again."
    )


def test_a_launch_without_gpu_work_amid_others_loses_nothing() -> None:
    events = in_order(*map(step, range(4)))
    assert complete(read(*(e for e in events if e["cat"] != "kernel" or e["ts"] != 120))) == [0, 1, 2, 3]


def test_launches_that_a_graph_captures_lose_nothing() -> None:
    capture = [
        launch(302, 1, 50, "cudaStreamBeginCapture"),
        launch(310, 5, 51),
        launch(330, 1, 52, "cudaStreamEndCapture"),
    ]
    *steps, last = map(step, range(4))
    trace = read(*in_order(*steps, (last[0], [launch(304, 1, 50, "cudaStreamBeginCapture"), *last[1]])))
    assert complete(trace) == [0, 1, 2, 3]
    assert 3 in complete(read(*in_order(*steps, (last[0], [*capture, launch(340, 1, 4), last[1][1]]))))


def test_last_steps_without_any_launch_do_not_count_if_others_launch() -> None:
    """The part of step 1 behind its launch may have lost others."""
    trace = read(*in_order(step(0), step(1), step(2, launches=False), step(3, launches=False)))
    assert complete(trace) == [0]


def test_gpu_work_without_its_launches_loses_nothing() -> None:
    host = in_order(*(step(number, launches=False) for number in range(3)))
    assert complete(read(*host, kernel("gemm", 20, 260, 1))) == [0, 1, 2]


def test_first_steps_without_any_launch_do_not_count_if_others_launch() -> None:
    """The part of step 1 before its launch may have lost others."""
    assert complete(read(*in_order(step(0, launches=False), step(1), step(2)))) == [2]
    assert complete(cut(in_order(step(0, launches=False), *map(step, (1, 2, 3))))) == [2]


def test_a_recording_whose_last_operators_have_no_gpu_work_is_doubtful() -> None:
    """Of ten operators the last four began after all GPU work, which ends at 550 of 950 µs; two may."""
    gpu = [launch(10, 5, 1), kernel("gemm", 20, 530, 1)]
    operators = [event(f"aten::op{number}", 100 * number, 50) for number in range(10)]
    assert doubt(read(*operators, *gpu)) == (
        CUT_OFF,
        "No GPU work was recorded for the last 40 % of the operators. Copy or record it again.",
    )
    assert read(*operators, launch(10, 5, 1), kernel("gemm", 20, 740, 1)).doubts == ()


def test_a_step_range_that_ends_inside_an_operator_is_no_step() -> None:
    """One of 20 µs in whose middle an operator of 80 began; a µs is what rounding adds."""
    host, gpu = step(0)
    assert complete(read({**host[0], "dur": 20}, *host[1:], *gpu)) == [0]
    assert read({**host[0], "dur": 20}, *host[1:], *gpu).step_source == "whole trace"
    assert read({**host[0], "dur": 94}, *host[1:], *gpu).step_source == "ProfilerStep"


def test_many_events_without_a_usable_time_make_the_numbers_doubtful() -> None:
    """Two of a hundred are, one is not."""
    operators = [event("aten::mm", 10 * number, 5) for number in range(100)]
    wrong = [{**operators[0], "dur": -5}, {**operators[1], "dur": -5}]
    assert doubt(read(*operators[2:], *wrong)) == (
        DAMAGED,
        "2 % of the events are damaged and were left out. Copy or record it again.",
    )
    assert read(*operators[1:], wrong[0]).doubts == ()
