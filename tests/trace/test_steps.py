"""Steps from ticks, ProfilerStep ranges or the whole trace; the thread that runs them."""

from __future__ import annotations

from diagnose.trace.schema import STEPS, Trace
from tests.trace.build import event, kernel, launch, read


def windows(trace: Trace) -> list[list[int]]:
    """number, start µs, end µs, complete."""
    return [[int(n), int(a) // 1000, int(b) // 1000, bool(c)] for n, a, b, c in trace.steps.itertuples(index=False)]


def tick(number: int, ts: float, dur: float = 1, tid: int = 1) -> dict[str, object]:
    return event(f"diagnose::tick|{number}", ts, dur, "user_annotation", tid=tid)


def step(number: int, ts: float, dur: float, cat: str = "user_annotation", **where: object) -> dict[str, object]:
    return event(f"ProfilerStep#{number}", ts, dur, cat, **where)


def test_columns_have_the_schemas_types() -> None:
    trace = read(event("a", 0))
    assert {name: str(dtype) for name, dtype in trace.steps.dtypes.items()} == {name: column.dtype for name, column in STEPS.items()}


def test_a_step_runs_from_the_end_of_one_tick_to_the_end_of_the_next() -> None:
    trace = read(
        tick(27, 0), event("aten::a", 5, 3), tick(28, 10, 2), event("aten::b", 20, 3), tick(29, 30, 1), tick(30, 40, 1), event("late", 50)
    )
    assert windows(trace) == [[28, 1, 12, True], [29, 12, 31, True], [30, 31, 41, False]]
    assert trace.step_source == "mark"
    assert trace.complete_steps.tolist() == [[1000, 12000], [12000, 31000]]


def test_ticks_outrank_profiler_steps_but_one_tick_makes_no_step() -> None:
    both = [step(1, 0, 50), event("aten::a", 5, 3)]
    assert read(*both, tick(1, 1), tick(2, 20)).step_source == "mark"
    assert read(*both, tick(1, 1)).step_source == "ProfilerStep"


def test_profiler_steps_without_mirror_and_the_empty_last_one() -> None:
    trace = read(
        step(5, 0, 10), event("aten::a", 1, 3), step(6, 10, 10), event("aten::b", 11, 3), step(7, 21, 0.06),
        step(5, 2, 9, "gpu_user_annotation", pid=0, tid=7), step(6, 12, 9, "gpu_user_annotation", pid=0, tid=7),
        kernel("backlog", 21.01, 0.01, 3),
    )  # fmt: skip
    assert windows(trace) == [[5, 0, 10, True], [6, 10, 20, True], [7, 21, 21, False]]
    assert trace.step_source == "ProfilerStep"


def test_profiler_steps_of_old_versions() -> None:
    trace = read(step(5, 0, 10, "Operator", tid="99"), event("aten::a", 1, 3, "Operator", tid="99"))
    assert windows(trace) == [[5, 0, 10, True]]


def test_a_step_whose_end_was_not_recorded_is_not_complete() -> None:
    trace = read(step(1, 0, 10), event("aten::a", 1), step(2, 10, 10) | {"args": {"finished": False}}, event("aten::b", 11))
    assert windows(trace) == [[1, 0, 10, True], [2, 10, 20, False]]


def test_repeated_marks_count_once() -> None:
    trace = read(
        step(1, 0, 10),
        step(1, 1, 8),
        event("aten::a", 2),
        step(2, 10, 10),
        event("aten::b", 12),
        step(1, 0, 10, tid=2),
        event("c", 3, tid=2),
    )
    assert windows(trace) == [[1, 0, 10, True], [2, 10, 20, True]]
    assert trace.training_thread == 0


def test_without_marks_the_whole_trace_is_one_step() -> None:
    trace = read(
        event("threading.py(1): wait", 0, 900, "python_function"), event("aten::a", 10, 5), launch(12, 1, 3), kernel("k", 30, 12, 3),
        event("Activity Buffer Request", 1, 2, "overhead"),
    )  # fmt: skip
    assert windows(trace) == [[0, 10, 42, True]]
    assert trace.step_source == "whole trace"


def test_gpu_events_alone_make_a_step() -> None:
    trace = read(kernel("k", 30, 12, 3))
    assert windows(trace) == [[0, 0, 12, True]]
    assert trace.training_thread == -1


def test_python_frames_alone_make_none() -> None:
    assert windows(read(event("train.py(1): main", 0, 9, "python_function"))) == [[0, 0, 0, False]]


def test_training_thread_is_the_one_with_the_marks_else_the_one_with_most_forward_ops() -> None:
    worker = [event("aten::w", 0, 90, tid=1), event("autograd::engine::evaluate_function: X", 1, 500, tid=3)]
    assert read(*worker, step(1, 5, 50, tid=2), event("aten::a", 6, 2, tid=2)).training_thread == 2
    assert read(*worker, event("aten::a", 6, 2, tid=2)).training_thread == 0
