"""Own lines on a step of 1000 µs worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from diagnose.judge.timelines import measured_case
from diagnose.measure.areas.user_code import self_ns
from diagnose.measure.measured import FACT_SELECTORS, Measured
from diagnose.measure.sources import Sources
from diagnose.trace.intervals import covered_before

TIMELINE = """
main  0    1000  step  ProfilerStep#1
main  400  600   op    aten::mm
"""
SIX_STEPS = "".join(
    f"main  {i}000  1000  step  ProfilerStep#{i + 1}\nmain  {i}900  90  op  aten::mm\n" for i in range(6)
)


def measured(calls: str, timeline: str = TIMELINE) -> Measured:
    return measured_case({"timeline": timeline, "calls": calls})


def costs(name: str, one: Measured) -> dict[int, float]:
    """Line → µs per step."""
    places = FACT_SELECTORS[name].places(one)
    return {place.line: round((place.ms_per_step or 0.0) * 1000, 6) for place in places}  # type: ignore[union-attr]


def test_covered_time_before_a_moment() -> None:
    intervals = np.array([[10, 20], [30, 50]], np.int64)
    assert covered_before(intervals, np.array([0, 10, 15, 25, 40, 60])).tolist() == [0, 0, 5, 10, 20, 30]
    assert covered_before(intervals[:0], np.array([5])).tolist() == [0]


def test_self_time_leaves_out_calls_of_other_lines_and_time_outside() -> None:
    # Line 5: 0-100, around line 6: 20-60. Only 0-50 counts: 20 for line 5, 30 for line 6.
    view = measured("0  100  5  a.py: f\n20  40  6  b.py: g").detail
    assert view is not None
    assert self_ns(view, np.array([[0, 50_000]], np.int64)).tolist() == [20_000, 30_000]


def test_python_is_divided_into_the_dominant_line_and_the_rest() -> None:
    # 400 µs of Python: line 41 takes 150 + 50, line 42 takes 90, 110 are nobody's.
    one = measured("0  150  41  a.py: f\n150  90  42  b.py: g\n300  50  41  a.py: f")
    assert costs("own_lines", one) == {41: 200.0, 42: 90.0}
    assert costs("other_python", one) == {-1: 110.0}


def test_what_a_rule_about_certain_calls_explains_is_not_the_rest() -> None:
    one = measured("0  150  41  <built-in function print>\n150  110  42  b.py: g")
    assert costs("own_lines", one) == {42: 110.0}
    assert costs("other_python", one) == {-1: 140.0}


def test_garbage_collection_inside_a_line_is_not_the_lines_own() -> None:
    one = measured(
        "0  300  41  a.py: f",
        "main  0  1000  step  ProfilerStep#1\nmain  50  200  mark  gc@41\nmain  400  600  op  aten::mm",
    )
    assert costs("own_lines", one) == {41: 100.0}


@pytest.mark.parametrize(
    ("callee", "shown"),
    [
        ("/home/me/job/train.py: count", "train.py: count"),
        ("numpy/lib/_function_base_impl.py: median", "numpy: median"),
        ("<built-in function sorted>", "sorted"),
        ("<built-in method sin of type object>", "sin"),
        ("<built-in method mean of numpy.ndarray object>", "numpy.ndarray.mean"),
    ],
)
def test_the_dominant_line_names_what_it_calls_most(callee: str, shown: str) -> None:
    assert measured(f"0  90  41  a.py: f\n100  150  41  {callee}").metric("own_lines_callee") == shown


def untrained(*forwards: str, facts: dict[str, object] | None = None) -> Measured:
    """A step that trains on 16 samples at line 20 and calls the model again."""
    training = """
main  0    1000  step  ProfilerStep#1
main  50   200   mark  forward@20
main  60   180   op    aten::mm  {"Sequence number": 5, "Input Dims": [[16, 8], []]}
main  260  200   mark  backward@21
main  270  180   op    autograd::engine::evaluate_function: MmBackward0  {"Sequence number": 5, "Fwd thread id": 1}
"""
    return measured_case({"timeline": training + "\n".join(forwards), "facts": facts or {}})


def test_forwards_without_a_backward_are_told_by_their_sequence_numbers() -> None:
    one = untrained(
        "main 500 100 mark forward@30",
        'main 510 80 op aten::mm {"Sequence number": 7, "Input Dims": [[40, 8], []]}',
    )
    assert one.metric("untrained_forwards_ms") == pytest.approx(0.1)
    assert one.metric("untrained_batch_ratio") == pytest.approx(2.5)


@pytest.mark.parametrize(("lines", "feeds"), [([30, 31], True), ([31], False), (None, False)])
def test_calls_that_make_what_is_trained_on_are_told_by_their_lines(
    lines: list[int] | None, feeds: bool
) -> None:
    told = [{"file": "/job/train.py", "line": line, "function": "main"} for line in lines or ()]
    facts = {} if lines is None else {"dataflow": {"trained_on": told}}
    one = untrained("main 500 100 mark forward@30", "main 510 80 op aten::mm", facts=facts)
    assert one.metric("untrained_feed_training") is feeds


def test_where_nothing_is_trained_no_forward_is_untrained() -> None:
    one = measured_case(
        {"timeline": "main 0 1000 step ProfilerStep#1\nmain 50 200 mark forward@20\nmain 60 180 op aten::mm"}
    )
    assert one.metric("untrained_forwards_ms") == 0


@pytest.mark.parametrize(("starts", "share"), [((100, 200, 300), 1 / 6), ((100, 1100, 5100), 3 / 6)])
def test_steps_count_not_calls(starts: tuple[int, ...], share: float) -> None:
    calls = "\n".join(f"{start}  50  41  torch/serialization.py: save" for start in starts)
    assert measured(calls, SIX_STEPS).metric("checkpoint_calls_steps_share") == pytest.approx(share)


def test_calls_beside_kernels_cost_nothing() -> None:
    gpu = (
        TIMELINE + 'main  5  5  runtime  cudaLaunchKernel  {"correlation": 1}\ngpu  20  100  kernel  gemm  '
        '{"correlation": 1}'
    )
    assert measured("0  200  41  torch/serialization.py: save", gpu).metric(
        "checkpoint_calls_ms"
    ) == pytest.approx(0.1)


def test_a_pause_that_fell_into_one_of_many_like_calls_is_not_the_lines_cost() -> None:
    # Ten calls of line 41 take 2 µs and one takes 200, of which 20 times the usual 2 count: 60 µs. Of the step
    # of 560 µs 160 are gone as a pause, so the line's share is 60 of 400; of 560 µs that is 84.
    calls = "".join(f"{10 * i}  2  41  a.py: f\n" for i in range(10)) + "150  200  41  a.py: f\n"
    step = "main  0  560  step  ProfilerStep#1\nmain  400  160  op  aten::mm"
    assert costs("own_lines", measured(calls, step)) == {41: 84.0}


def test_a_chance_delay_in_one_step_of_two_is_not_the_lines_cost() -> None:
    two_steps = "".join(SIX_STEPS.splitlines(keepends=True)[:4])
    calls = "0  600  41  a.py: f\n1000  150  41  a.py: f"
    assert costs("own_lines", measured(calls, two_steps)) == {41: 150.0}


def test_several_lines_count_whatever_they_call() -> None:
    # Line 41 takes 200 µs of Python, line 42 takes 150 in an operator; line 43 takes 40: less than 5 %.
    step = """
main  0    1000  step  ProfilerStep#1
main  200  150   op    aten::sort
main  500  500   mark  forward@9
"""
    calls = "0  200  41  a.py: f\n200  150  42  b.py: g\n400  40  43  c.py: h\n500  500  9  torch/nn.py: call"
    assert costs("own_lines", measured(calls, step)) == {41: 200.0, 42: 150.0}


def test_an_operator_that_a_backward_goes_through_is_no_work_beside_the_model() -> None:
    step = """
main  0    1000  step  ProfilerStep#1
main  0    200   op    aten::sort   {"Sequence number": 4}
main  200  200   op    aten::log    {"Sequence number": 4}
main  500  500   mark  backward@9
main  510  400   op    autograd::engine::evaluate_function: LogBackward0  {"Sequence number": 4}
"""
    calls = "0  200  41  aten::sort\n200  200  42  aten::log\n500  500  9  backward"
    # sort makes no node of its own: log does, whose number was next
    assert costs("own_lines", measured(calls, step)) == {41: 200.0}


def test_the_line_inside_is_meant_where_it_takes_nearly_all() -> None:
    # Line 41 calls a function for 300 µs: its line 51 takes 265 of them, or two lines take 150 each.
    assert costs("own_lines", measured("0  300  41  a.py: f\n20  265  51  b.py: g")) == {51: 265.0}
    halves = "0  300  41  a.py: f\n0  150  51  b.py: g\n150  150  52  b.py: g"
    assert costs("own_lines", measured(halves)) == {41: 300.0}


def test_the_line_inside_that_takes_most_is_told_by_itself() -> None:
    # Of line 41's 300 µs 200 are line 51's, of these 120 line 61's.
    inside = "0  300  41  a.py: f\n20  200  51  b.py: g\n30  120  61  c.py: h"
    assert costs("own_lines", measured(inside)) == {61: 120.0, 41: 100.0, 51: 80.0}
    assert costs("own_lines", measured("0  300  41  a.py: f\n20  260  51  b.py: g")) == {51: 260.0}
    assert costs("own_lines", measured("0  130  41  a.py: f\n20  90  51  b.py: g")) == {51: 90.0}  # 4 % left


def test_a_line_that_two_lines_come_to_takes_most() -> None:
    # Line 41 calls lines 51 and 52 for 150 µs each, which call line 61: all of that, or 100 of each.
    halves = "0  300  41  a.py: f\n0  150  51  b.py: g\n150  150  52  b.py: g\n"
    assert costs("own_lines", measured(halves + "0  150  61  c.py: h\n150  150  61  c.py: h")) == {61: 300.0}
    most = "0  100  61  c.py: h\n150  100  61  c.py: h"
    assert costs("own_lines", measured(halves + most)) == {61: 200.0, 41: 100.0}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("    state, reward, done, _ = env.step(action)", {51: 90.0}),
        ("    results = [env.step(a) for (a, env) in zip(actions, envs)]", {51: 90.0}),
        ("    loss, outputs = trainer.step()", {41: 200.0, 51: 90.0}),
        ("    optimizer.step()", {41: 200.0, 51: 90.0}),
    ],
)
def test_an_environment_whose_time_is_spread_is_no_line_to_mend(
    source: str, expected: dict[int, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Sources, "line", lambda _, file, line: source if line == 41 else "count(x)")
    one = measured("0  200  41  a.py: step\n0  60  61  b.py: g\n60  90  62  b.py: g\n300  90  51  b.py: g")
    assert costs("own_lines", one) == expected
    assert costs("other_python", one) == {-1: 110.0}


@pytest.mark.parametrize(
    ("callee", "expected"),
    [("/job/pong.py: _step", {51: 90.0}), ("numpy/core.py: median", {61: 190.0, 51: 90.0})],
    ids=["hands on", "one line's work"],
)
def test_a_line_inside_an_environment_is_one_to_mend_if_it_does_the_work(
    callee: str, expected: dict[int, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = {41: "    results = [env.step(a) for env, a in zip(envs, actions)]"}
    monkeypatch.setattr(Sources, "line", lambda _, file, line: steps.get(line, ""))
    one = measured(f"0  200  41  /job/pong.py: step\n0  190  61  {callee}\n300  90  51  b.py: g")
    assert costs("own_lines", one) == expected


def test_a_line_that_calls_itself_counts_once() -> None:
    # Line 51 takes 280 µs of line 41's 300, 200 of them in itself again.
    calls = "0  300  41  a.py: f\n10  280  51  b.py: g\n50  200  51  b.py: g\n60  150  51  b.py: g"
    assert costs("own_lines", measured(calls)) == {51: 280.0}


def test_a_line_that_cheap_lines_call_may_be_costly() -> None:
    # Lines 41 and 42 take 40 µs each, all of it in line 51.
    calls = "0  40  41  a.py: f\n0  40  51  b.py: g\n100  40  42  a.py: f\n100  40  51  b.py: g"
    assert costs("own_lines", measured(calls)) == {51: 80.0}


def test_what_a_line_that_calls_the_model_does_besides_is_not_counted() -> None:
    step = """
main  0    1000  step  ProfilerStep#1
main  0    200   op    aten::randn
main  200  300   mark  forward@41
main  600  150   op    aten::sort
"""
    calls = "0  200  41  aten::randn\n200  300  41  torch/nn/module.py: call\n600  150  42  aten::sort"
    assert costs("own_lines", measured(calls, step)) == {42: 150.0}


def test_short_lines_of_one_function_are_told_together_where_its_caller_calls_the_model_as_well() -> None:
    """Line 41 is `model(*batch(rows))`: the model from 200 on; `batch` is lines 61 to 64, of which the last
    takes 1 %. Lines of the function that does the steps are told by themselves: 45 is one, as short.
    """
    timeline = """
    main  0    1000  step  ProfilerStep#1
    main  200  400   mark  forward@41
    main  210  380   op    aten::mm
    main  650  300   mark  backward@42
    """
    calls = "0  600  41  model.py: __call__\n0  100  41  /job/train.py: batch\n610  30  45  b.py: note"
    inside = "\n".join(f"{10 + 30 * i}  {30 if i < 3 else 10}  {61 + i}  numpy: take" for i in range(4))
    one = measured(f"{calls}\n{inside}", timeline)
    one.recording.calls.update({"functions": ["main", "batch"], "function": [0, 0, 0, 1, 1, 1, 1]})
    assert costs("own_lines", one) == {61: 30.0, 62: 30.0, 63: 30.0}
    assert one.metric("own_line_share") == pytest.approx(0.09)
