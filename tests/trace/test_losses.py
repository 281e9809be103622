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


def layers(number: int, launching: int) -> list[Json]:
    """A step of 100 µs with ten operators of 8 µs, of which the first ones launch a kernel each."""
    at = [100 * number + 10 * layer for layer in range(10)]
    ids = [10 * number + layer + 1 for layer in range(10)]
    return [
        event(f"ProfilerStep#{number}", at[0], 100, "user_annotation"),
        *(event("aten::mm", begin, 8) for begin in at),
        *(launch(begin + 1, 2, id_) for begin, id_ in zip(at[:launching], ids, strict=False)),
        *(kernel("gemm", begin + 4, 5, id_) for begin, id_ in zip(at[:launching], ids, strict=False)),
    ]


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


def test_steps_that_launch_nothing_are_whole() -> None:
    """They may compute on the CPU: of three steps only the first, the middle or the last uses the GPU."""
    for user in range(3):
        steps = [step(number, launches=number == user) for number in range(3)]
        assert complete(read(*in_order(*steps))) == [0, 1, 2]


def test_last_steps_whose_operators_launch_elsewhere_lost_their_gpu_work() -> None:
    """Of step 1, ten operators launch; of step 2, seven of the ten, and of step 3 none."""
    whole, part, silent = layers(1, 10), layers(2, 7), layers(3, 0)
    trace = read(*whole, *part, *silent, deviceProperties=GPU)
    assert complete(trace) == [1]
    assert doubt(trace)[1].startswith("A part of the GPU work was not recorded: 2 of 3 steps lost a part")
    # the seventh operator of step 2 launches last: three more do not, and ten of a step on the CPU
    on_cpu = [{**entry, "name": "aten::topk"} if entry["cat"] == "cpu_op" else entry for entry in silent]
    assert complete(read(*whole, *part, *on_cpu)) == [1, 2, 3]


def test_where_steps_on_both_sides_of_one_lost_gpu_work_none_is_whole() -> None:
    """Step 1 lacks a buffer of its middle: seven of ten kernels are there, or seven of ten launches too."""
    amid = [entry for number in (2, 3, 4) for entry in layers(number, 10)]
    for missing in (("kernel",), ("kernel", "cuda_runtime")):
        first = [e for e in layers(1, 10) if e["cat"] not in missing or not 130 <= e["ts"] < 160]
        assert complete(read(*first, *amid, *layers(5, 0))) == []  # others may lack one as well
        assert complete(read(*first, *amid, *layers(5, 10))) == [1, 2, 3, 4, 5]


def test_a_last_step_without_much_of_its_gpu_work_is_not_whole() -> None:
    """Of 50 operators of a step 11 may launch nothing in its end, not 10: some compute on the CPU there."""

    def ends_with(silent: int) -> Trace:
        at = [10 * layer for layer in range(50)]
        ops = [event("aten::mm", begin, 8) for begin in at]
        gpu = [
            entry
            for number, begin in enumerate(at[: 50 - silent], 1)
            for entry in (launch(begin + 1, 2, number), kernel("gemm", begin + 4, 5, number))
        ]
        return read(event("ProfilerStep#1", 0, 500, "user_annotation"), *ops, *gpu)

    assert complete(ends_with(10)) == [1]
    assert complete(ends_with(11)) == []


def test_gpu_work_without_its_launches_loses_nothing() -> None:
    host = in_order(*(step(number, launches=False) for number in range(3)))
    assert complete(read(*host, kernel("gemm", 20, 260, 1))) == [0, 1, 2]


def test_first_steps_whose_operators_launch_elsewhere_lost_their_gpu_work() -> None:
    """A profiler may write the GPU work of the last steps first."""
    assert complete(read(*layers(1, 0), *layers(2, 10), *layers(3, 10))) == [2, 3]


def test_operators_before_the_first_launch_of_a_step_are_what_a_compiler_tries_out() -> None:
    tried = [event("aten::mm", number, 0.5) for number in range(50)]
    first = layers(1, 10)
    trace = read({**first[0], "ts": 0, "dur": 200}, *tried, *first[1:], *layers(2, 10))
    assert complete(trace) == [1, 2]


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
    """One of 20 µs in whose middle an operator of 80 began; a tenth of a range changes little."""
    host, gpu = step(0)
    assert complete(read({**host[0], "dur": 20}, *host[1:], *gpu)) == [0]
    assert read({**host[0], "dur": 20}, *host[1:], *gpu).step_source == "whole trace"
    assert read({**host[0], "dur": 80}, *host[1:], *gpu).step_source == "ProfilerStep"


def test_step_ranges_around_hardly_any_operator_are_no_steps() -> None:
    """One of 21 operators is in the range, less than a twentieth."""
    operators = [event("aten::mm", 10 * number, 8) for number in range(21)]
    stub = event("ProfilerStep#1", 0, 9, "user_annotation")
    assert read(stub, *operators).step_source != "ProfilerStep"
    assert read(stub, *operators[:20]).step_source == "ProfilerStep"


def test_a_recording_of_which_much_is_damaged_is_not_judged() -> None:
    """Six of a hundred events are damaged, which is more than a twentieth."""
    operators = [event("aten::mm", 10 * number, 5) for number in range(100)]
    trace = read(*operators[6:], *({**operator, "dur": -5} for operator in operators[:6]))
    assert complete(trace) == []
    assert doubt(trace)[1] == (
        "6 % of the events are damaged, so that no step can be judged. Copy or record it again."
    )


def test_many_events_without_a_usable_time_make_the_numbers_doubtful() -> None:
    """Two of a hundred are, one is not."""
    operators = [event("aten::mm", 10 * number, 5) for number in range(100)]
    wrong = [{**operators[0], "dur": -5}, {**operators[1], "dur": -5}]
    assert doubt(read(*operators[2:], *wrong)) == (
        DAMAGED,
        "2 % of the events are damaged and were left out. Copy or record it again.",
    )
    assert read(*operators[1:], wrong[0]).doubts == ()
