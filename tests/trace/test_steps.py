"""Steps from ticks, ProfilerStep ranges, optimizer steps, repetition or the
whole trace; the thread that runs them.
"""

from __future__ import annotations

from diagnose.trace.schema import STEPS, Trace
from tests.trace.build import event, kernel, launch, read


def windows(trace: Trace) -> list[list[int]]:
    """number, start µs, end µs, complete."""
    return [
        [int(n), int(a) // 1000, int(b) // 1000, bool(c)]
        for n, a, b, c in trace.steps.itertuples(index=False)
    ]


def tick(number: int, ts: float, dur: float = 1, tid: int = 1) -> dict[str, object]:
    return event(f"diagnose::tick|{number}", ts, dur, "user_annotation", tid=tid)


def step(
    number: int, ts: float, dur: float, cat: str = "user_annotation", **where: object
) -> dict[str, object]:
    return event(f"ProfilerStep#{number}", ts, dur, cat, **where)


def test_columns_have_the_schemas_types() -> None:
    trace = read(event("a", 0))
    assert {name: str(dtype) for name, dtype in trace.steps.dtypes.items()} == {
        name: column.dtype for name, column in STEPS.items()
    }


def test_a_step_runs_from_the_end_of_one_tick_to_the_end_of_the_next() -> None:
    trace = read(
        tick(27, 0),
        event("aten::a", 5, 3),
        tick(28, 10, 2),
        event("aten::b", 20, 3),
        tick(29, 30, 1),
        tick(30, 40, 1),
        event("late", 50),
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


def test_the_rest_after_the_last_step_is_no_step() -> None:
    def trace(rest: int) -> Trace:
        starts = [*range(2, 42, 2), *range(51, 51 + rest)]
        calls = [part for ts in starts for part in (launch(ts, 0.5, ts), kernel("k", ts + 0.5, 0.5, ts))]
        return read(step(1, 0, 50), step(2, 50, 4), *calls)

    # 20 launches in 50 us of the first range, and 4 us of the last
    assert [row[3] for row in windows(trace(rest=1))] == [True, False]
    assert [row[3] for row in windows(trace(rest=2))] == [True, True]


def test_a_last_step_of_few_operators_is_a_step_if_it_takes_as_long() -> None:
    trace = read(step(1, 0, 50), step(2, 50, 50), *(op(ts) for ts in range(2, 42, 2)), op(60))
    assert [row[3] for row in windows(trace)] == [True, True]


def test_a_step_that_launches_one_graph_after_one_that_captures_it_is_no_rest() -> None:
    captures = [part for i in range(20) for part in forward(2 + i, 2 + i)]
    replays = [launch(51, 1, 99, "cudaGraphLaunch"), *(kernel("k", 53 + i, 1, 99) for i in range(20))]
    trace = read(step(1, 0, 50), *captures, step(2, 50, 25), *replays)
    assert [row[3] for row in windows(trace)] == [True, True]


def test_steps_that_only_launch_a_graph_are_steps() -> None:
    steps = [part for i in range(3) for part in (
        step(i, 100 * i + 50, 100), launch(100 * i + 60, 5, i, "cudaGraphLaunch"), kernel("k", 100 * i + 70, 60, i)
    )]  # fmt: skip
    trace = read(*(op(ts) for ts in (0, 5, 10)), *steps)
    assert windows(trace) == [[0, 50, 150, True], [1, 150, 250, True], [2, 250, 350, True]]


def test_profiler_steps_of_old_versions() -> None:
    trace = read(step(5, 0, 10, "Operator", tid="99"), event("aten::a", 1, 3, "Operator", tid="99"))
    assert windows(trace) == [[5, 0, 10, True]]


def test_a_step_whose_end_was_not_recorded_is_not_complete() -> None:
    trace = read(
        step(1, 0, 10),
        event("aten::a", 1),
        step(2, 10, 10) | {"args": {"finished": False}},
        event("aten::b", 11),
    )
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


def test_marks_without_a_complete_step_give_way_to_the_next_source() -> None:
    unfinished = step(1, 0, 90) | {"args": {"finished": False}}
    trace = read(unfinished, op(0), optimizer(10), op(20), optimizer(30), op(35), optimizer(47, 3))
    assert windows(trace) == [[1, 14, 34, True], [2, 34, 50, True]]
    assert trace.step_source == "optimizer"
    assert trace.notes == (
        "No step marked by the ProfilerStep ranges is complete (its end was not recorded, or no operator "
        "or launch began in it). Steps are taken from the optimizer's steps.",
    )


def test_ticks_and_ranges_around_no_operator_give_way_to_the_whole_trace() -> None:
    trace = read(op(0, 10), tick(1, 20), tick(2, 30), step(1, 40, 10))
    assert windows(trace) == [[0, 0, 50, True]]
    assert trace.step_source == "whole trace"
    assert "by the recorder's ticks or the ProfilerStep ranges is complete" in trace.notes[0]
    assert trace.notes[0].endswith("Steps are taken from the whole recording, which counts as one step.")


def test_one_complete_step_is_enough_to_stay_with_the_marks() -> None:
    trace = read(
        step(1, 0, 10),
        op(3),
        step(2, 10, 50) | {"args": {"finished": False}},
        *(optimizer(ts) for ts in (20, 30, 40)),
    )
    assert (trace.step_source, trace.notes) == ("ProfilerStep", ())


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


# ---- between the optimizer's steps


def optimizer(
    ts: float, dur: float = 4, name: str = "SGD", tid: int = 1, cat: str = "user_annotation"
) -> dict[str, object]:
    return event(f"Optimizer.step#{name}.step", ts, dur, cat, tid=tid)


def op(ts: float, dur: float = 1, name: str = "aten::mm", tid: int = 1) -> dict[str, object]:
    return event(name, ts, dur, tid=tid)


def test_three_optimizer_steps_make_two_steps() -> None:
    trace = read(
        op(0), optimizer(10), op(20), optimizer(30), op(35), optimizer(47, 3), op(60), optimizer(47, 3, tid=2)
    )
    assert windows(trace) == [[1, 14, 34, True], [2, 34, 50, True]]
    assert (trace.step_source, trace.training_thread, trace.notes) == ("optimizer", 0, ())


def test_two_optimizer_steps_make_none_and_the_old_category_counts() -> None:
    assert read(op(0), optimizer(10), op(20), optimizer(30)).step_source == "whole trace"
    old = [optimizer(ts, cat="Operator") for ts in (10, 20, 30)]
    assert windows(read(op(0), op(16), op(26), *old)) == [[1, 14, 24, True], [2, 24, 34, True]]


def test_an_optimizer_inside_another_is_no_step_of_its_own() -> None:
    wrapped = [optimizer(ts + 1, 2, "SGD") for ts in (10, 20, 30)]
    trace = read(op(0), op(16), op(26), *wrapped, *(optimizer(ts, 5, "Lookahead") for ts in (10, 20, 30)))
    assert windows(trace) == [[1, 15, 25, True], [2, 25, 35, True]]


def test_optimizers_that_take_turns_share_a_step() -> None:
    pairs = [
        each
        for ts in (0, 20, 40)
        for each in (optimizer(ts + 5, 1, "Adam"), op(ts + 7), optimizer(ts + 15, 1, "SGD"))
    ]
    assert windows(read(op(0), *pairs)) == [[1, 16, 36, True], [2, 36, 56, True]]


def test_optimizers_of_one_class_are_told_apart_by_the_ops_inside() -> None:
    def turn(ts: float) -> list[dict[str, object]]:
        small = [optimizer(ts + 5, 4, "Adam"), op(ts + 6)]
        return [*small, optimizer(ts + 15, 4, "Adam"), op(ts + 16), op(ts + 17)]

    assert windows(read(op(0), *turn(0), *turn(20), *turn(40))) == [[1, 19, 39, True], [2, 39, 59, True]]


def test_an_unsteady_number_of_ops_inside_changes_nothing() -> None:
    inside = [3, 1, 2, 2, 1]
    ops = [op(10 * i + 1 + j) for i, count in enumerate(inside) for j in range(count)]
    trace = read(*(optimizer(10 * i, 8) for i in range(5)), *ops)
    assert windows(trace) == [[n, 10 * n - 2, 10 * n + 8, True] for n in range(1, 5)]


def test_optimizers_in_no_order_make_no_steps() -> None:
    names = ["Adam", "SGD", "Adam", "LBFGS", "SGD", "SGD", "LBFGS"]
    assert (
        read(op(1), *(optimizer(10 * i + 5, 1, name) for i, name in enumerate(names))).step_source
        == "whole trace"
    )


# ---- repetition


def forward(ts: float, correlation: int) -> list[dict[str, object]]:
    """A pass of three kernels of 3 µs with 1 µs between them, launched 2 µs earlier;
    correlations from the given one on.
    """
    names = ("conv", "relu", "gemm")
    return [
        each
        for i, name in enumerate(names)
        for each in (launch(ts + 4 * i - 2, 1, correlation + i), kernel(name, ts + 4 * i, 3, correlation + i))
    ]


def test_kernels_that_repeat_make_steps_that_begin_after_the_longest_gap() -> None:
    trace = read(op(0), *forward(10, 1), *forward(30, 4), *forward(50, 7), *forward(70, 10)[:2])
    # conv begins at 10, 30, 50, 70: the gaps before it are 9 µs, all others 1 µs. What
    # follows the last border has no end.
    assert windows(trace) == [[1, 10, 30, True], [2, 30, 50, True], [3, 50, 70, True]]
    assert trace.step_source == "repetition"
    assert "A pattern of 3 kernels repeats 3 times." in trace.notes[0] and "may be a layer" in trace.notes[0]


def test_a_recording_that_begins_in_the_middle_of_a_step() -> None:
    trace = read(op(0), *forward(10, 1)[2:], *forward(30, 4), *forward(50, 7), *forward(70, 10))
    assert windows(trace) == [[1, 30, 50, True], [2, 50, 70, True]]


def test_a_lead_in_that_does_not_repeat_may_be_an_embedding_so_nothing_is_taken_for_steps() -> None:
    layers = [*forward(10, 1), *forward(30, 4), *forward(50, 7), *forward(70, 10)]
    assert read(op(0), launch(1, 1, 99), kernel("embedding", 3, 3, 99), *layers).step_source == "whole trace"
    assert read(op(0), *layers, launch(90, 1, 99), kernel("softmax", 93, 3, 99)).step_source == "whole trace"


def test_layers_inside_one_annotation_op_or_module_are_no_steps() -> None:
    layers = [*forward(10, 1), *forward(30, 4), *forward(50, 7)]
    around: list[dict[str, object]] = [
        event("model_inference", 1, 90, "user_annotation"),
        event("Torch-Compiled Region: 0/0", 1, 90),
        event("nn.Module: GPT_0", 1, 90, "python_function"),
    ]
    assert [read(op(0), outer, *layers).step_source for outer in around] == ["whole trace"] * 3
    assert (
        read(op(0), event("train.py(1): main", 1, 90, "python_function"), *layers).step_source == "repetition"
    )


def test_each_repetition_in_a_call_of_its_own_is_a_step() -> None:
    calls = [event("nn.Module: GPT_0", ts - 3, 19, "python_function") for ts in (10, 30, 50)]
    assert windows(read(op(0), *calls, *forward(10, 1), *forward(30, 4), *forward(50, 7))) == [
        [1, 10, 30, True],
        [2, 30, 50, True],
    ]


def test_repetitions_inside_one_graph_launch_are_no_steps() -> None:
    layers = [kernel(name, ts + i, 1, 5) for ts in (10, 20, 30) for i, name in enumerate(("gemm", "norm"))]
    assert read(op(0), launch(1, 1, 5, "cudaGraphLaunch"), *layers).step_source == "whole trace"


def test_repeated_graph_launches_are_steps() -> None:
    replays = [kernel(name, ts + i, 1, ts) for ts in (10, 20, 30) for i, name in enumerate(("gemm", "norm"))]
    trace = read(op(0), *(launch(ts - 1, 1, ts, "cudaGraphLaunch") for ts in (10, 20, 30)), *replays)
    assert windows(trace) == [[1, 10, 20, True], [2, 20, 30, True]]


def test_the_stream_that_computes_most_decides() -> None:
    collectives = [
        kernel("ncclDevKernel_AllReduce_Sum_f32", 10 + 20 * i, 19, 100 + i, stream=20) for i in range(3)
    ]
    copies = [
        kernel("Memcpy HtoD (Pinned -> Device)", 5 + 20 * i, 18, 200 + i, stream=21, cat="gpu_memcpy")
        for i in range(3)
    ]
    trace = read(op(0), *forward(10, 1), *forward(30, 4), *forward(50, 7), *collectives, *copies)
    assert windows(trace) == [[1, 10, 30, True], [2, 30, 50, True]]


def test_operators_that_repeat_on_the_cpu() -> None:
    passes = [
        op(ts + 4 * i, 3, name)
        for ts in (10, 30, 50)
        for i, name in enumerate(("aten::conv2d", "aten::relu", "aten::linear"))
    ]
    # the depth below the outermost ops may differ
    nested = [op(ts + 1, 1, "aten::convolution") for ts in (10, 30)]
    trace = read(*passes, *nested, op(0, 2, tid=2))
    assert windows(trace) == [[1, 10, 30, True], [2, 30, 50, True]]
    assert "A pattern of 3 operators repeats 3 times." in trace.notes[0]
    assert read(event("Net.forward", 9, 60, "user_annotation"), *passes).step_source == "whole trace"


def test_repetitions_that_take_no_time_are_not_complete() -> None:
    trace = read(op(0), *(kernel("gemm", 10, 0, i) for i in range(4)), kernel("gemm", 15, 5, 9))
    assert windows(trace) == [[1, 10, 10, False], [2, 10, 10, False], [3, 10, 10, False], [4, 10, 15, True]]
