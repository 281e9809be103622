"""What a user asks as changes of the steps, worked out by hand on `test_new_ledger.STEP`
and on a step of the training thread.
"""

from __future__ import annotations

import math

import pytest

from diagnose.errors import DiagnoseError, UsageError
from diagnose.judge.timelines import measured_case, trace_from_text
from diagnose.predict.prediction import Prediction
from diagnose.predict.whatif import Answer, Question, checked, what_if, what_if_together
from diagnose.predict.widths import times_odds, widths
from diagnose.report.whatif import _lines, whatif_document
from tests.measure.test_recurring import EVALUATE, looked_at

from .test_bound import case
from .test_graph import ITEM, repeated
from .test_new_ledger import STEP, predicted

# The host's 100 of a step: a read from 10 to 40, the forward from 50 to 70, the rest Python.
HOST = """
main 10 30 mark item@7
main 15 20 op   aten::item
main 50 20 mark forward@5
main 55 10 op   aten::mm
"""


@pytest.fixture(scope="module")
def gpu() -> Prediction:
    return predicted(trace_from_text(repeated(STEP, 100, before=1)))


@pytest.fixture(scope="module")
def host() -> Prediction:
    return predicted(trace_from_text(repeated(HOST, 100)))


def step_us(prediction: Prediction, *questions: Question) -> float:
    return what_if(checked(questions), prediction).then_ms * 1000


# ---- rows of the ledger


def test_a_row_of_the_training_thread(host: Prediction) -> None:
    # The first microsecond is an operator of its own: 30 + 20 + 1, and 49 of Python.
    assert step_us(host, Question("remove", "python")) == pytest.approx(51)
    assert step_us(host, Question("shrink", "forward", 0.5)) == pytest.approx(90)
    assert step_us(
        host, Question("shrink", "forward", 0.5), Question("remove", "host_reads")
    ) == pytest.approx(60)


def test_idle_rows_of_a_gpu_are_the_hosts_work(gpu: Prediction) -> None:
    assert step_us(gpu, Question("remove", "python")) == pytest.approx(75)


def test_busy_rows_of_a_gpu_are_its_events(gpu: Prediction) -> None:
    # The host takes 100 whatever the GPU does.
    answer = what_if([Question("shrink", "compute", 0.5), Question("remove", "exposed_copies")], gpu)
    assert answer.then_ms == pytest.approx(answer.now_ms) == pytest.approx(0.1)
    assert answer.rows_then_ms["compute"] == pytest.approx(0.015)
    assert answer.rows_then_ms["exposed_copies"] == 0


def test_a_row_counts_on_every_thread() -> None:
    # `test_graph.BACKWARD` ninety times as slow, so that no idle time is a moment. While the GPU idles the
    # training thread works for 1 + 470 + 470, the other one from 3600 to 5040.
    text = """
    auto 3600 4050 op      autograd::engine::evaluate_function: MmBackward0
    auto 4500 470  runtime cudaLaunchKernel =2
    main 900  470  runtime cudaLaunchKernel =1
    gpu  1440 1800 kernel  a                =1
    gpu  5040 2700 kernel  b                =2
    main 8280 470  runtime cudaLaunchKernel =3
    gpu  8820 900  kernel  c                =3
    """
    prediction = predicted(trace_from_text(repeated(text, 10_800, before=1)))
    assert step_us(prediction, Question("remove", "host_work")) == pytest.approx(
        10_800 - 1 - 470 - 470 - 1440
    )


# ---- selectors


def test_a_selector_with_a_gpu_knows_which_calls_wait() -> None:
    # The host's 100 less the wait from 23 to 75, of which the call itself keeps 5; the GPU's 50
    # + 2 + 2 and its gaps then are more.
    prediction = predicted(trace_from_text(repeated(ITEM, 100, before=1)))
    assert 53 <= step_us(prediction, Question("unblock", "host_sync")) < 60


def test_a_selector_of_calls_takes_its_time_from_the_rows_it_lies_in() -> None:
    # Of the step of 10 ms 6 are Python, 3 of them in time.sleep.
    text = "main 0 10000 step ProfilerStep#1\nmain 6000 4000 op aten::mm"
    prediction = Prediction(
        measured_case({"timeline": text, "calls": "1000 3000 12 <built-in function sleep>"})
    )
    answer = what_if([Question("remove", "sleep_calls")], prediction)
    assert answer.then_ms == pytest.approx(7, abs=0.1)
    assert answer.rows_then_ms["operators"] == pytest.approx(4, abs=0.1)


# ---- rules


def test_a_rule_removed_is_its_fix_with_its_range() -> None:
    # Three workers hide the 6 ms of 10 (`test_bound.case`), and nothing else is to gain. At worst it is what
    # such fixes usually miss by.
    answer = what_if([Question("remove", "input-wait-no-workers")], Prediction(measured_case(case(8))))
    assert answer.asked[0].is_fix
    assert answer.then_ms == pytest.approx(4)
    width = widths()["workers"]
    assert answer.range_ms == pytest.approx((4, 10 - times_odds(6, 10, width.low)))


def test_what_only_some_steps_have_comes_off_the_average_step() -> None:
    """A usual step of 10 ms, and an evaluation of 90 after every tenth: 19 on average. The rows stay."""
    plain_ms = [100.0 if number % 10 == 5 else 10 for number in range(30)]
    busy = "main  0  1000  step  ProfilerStep#1\nmain  0  1000  op  aten::mm"
    measured = looked_at(plain_ms, dict.fromkeys((5, 15, 25), EVALUATE), timeline=busy)
    answer = what_if([Question("remove", "recurring-evaluation")], Prediction(measured))
    left = 9 * measured.number("recurring_evaluations_left")
    assert answer.seldom_ms == pytest.approx(9)
    assert (answer.now_ms, answer.then_ms) == pytest.approx((19, 10 + left))
    assert sum(answer.rows_then_ms.values()) == pytest.approx(10)
    assert answer.rows_then_ms == pytest.approx(answer.rows_now_ms)
    (line,) = [
        str(line) for line in _lines(whatif_document(answer, "train")) if "instead of 19.0 ms" in str(line)
    ]
    assert line.startswith("A step takes on average ")


def test_a_rule_shrunk_is_what_it_looks_at() -> None:
    answer = what_if([Question("shrink", "input-wait-no-workers", 0.5)], Prediction(measured_case(case(8))))
    assert (answer.then_ms, answer.range_ms) == (pytest.approx(7), None)
    assert answer.asked[0].now_ms == pytest.approx(6)


def test_a_rule_that_does_not_fire_has_no_fix(host: Prediction) -> None:
    with pytest.raises(DiagnoseError, match="the rule finds nothing") as refused:
        what_if([Question("remove", "input-wait-no-workers")], host)
    assert "input_wait" in refused.value.do


# ---- workers and kernels


@pytest.mark.parametrize(("workers", "step_ms"), [("1", 6), ("3", 4)])
def test_workers(workers: str, step_ms: float) -> None:
    answer = what_if([Question("workers", workers)], Prediction(measured_case(case(8))))
    assert (answer.then_ms, answer.asked[0].now_ms) == (pytest.approx(step_ms), pytest.approx(6))


def test_kernels_by_their_names(gpu: Prediction) -> None:
    answer = what_if(checked([Question("scale_kernels", "^A$", 0.5)]), gpu)
    assert answer.asked[0].now_ms == pytest.approx(0.03)
    assert answer.rows_then_ms["compute"] == pytest.approx(0.015)


def test_the_order_of_the_questions_changes_nothing(gpu: Prediction) -> None:
    questions = [
        Question("remove", "python"),
        Question("scale_kernels", "a", 0.5),
        Question("shrink", "launch_bound", 0.5),
    ]
    assert step_us(gpu, *questions) == pytest.approx(step_us(gpu, *reversed(questions)))


def test_the_answer_tells_how_far_to_trust_it(gpu: Prediction) -> None:
    answer: Answer = what_if([Question("remove", "python")], gpu)
    assert (answer.replayed_steps, answer.step_count) == (3, 3)
    assert answer.error <= 0.05
    assert math.fsum(answer.rows_now_ms.values()) == pytest.approx(answer.now_ms)
    assert math.fsum(answer.rows_then_ms.values()) == pytest.approx(answer.then_ms)


# ---- what cannot be asked


@pytest.mark.parametrize(
    ("question", "said"),
    [
        (Question("remove", "host_raeds"), "did you mean host_reads"),
        (Question("shrink", "input-wait-no-worker", 0.5), "did you mean input-wait-no-workers"),
        (Question("remove", "xyzzy"), "rules` lists them"),
        (Question("scale_kernels", "(", 0.5), "no regular expression"),
    ],
)
def test_a_wrong_name_is_said_with_the_nearest(question: Question, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        checked([question])
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("question", "said", "is_usage"),
    [
        (Question("remove", "compute"), "no row compute", True),
        (Question("unblock", "host_reads"), "no GPU in this recording", False),
        (Question("scale_kernels", "gemm", 0.5), "no kernels", False),
        (Question("remove", "kernels"), "no GPU in this recording", False),
        (Question("remove", "sleep_calls"), "only a run of the script records this", False),
        (Question("workers", "2"), "no step waits for a loader", False),
        (Question("shrink", "gc-pauses", 0.5), "only its fix can be made", False),
    ],
)
def test_what_the_recording_does_not_hold(
    question: Question, said: str, is_usage: bool, host: Prediction
) -> None:
    with pytest.raises(DiagnoseError) as refused:
        what_if(checked([question]), host)
    assert said in str(refused.value)
    assert isinstance(refused.value, UsageError) == is_usage


def test_a_kernel_that_nobody_knows_is_said_with_those_there_are(gpu: Prediction) -> None:
    with pytest.raises(UsageError, match="no kernel has such a name") as refused:
        what_if([Question("scale_kernels", "gemm", 0.5)], gpu)
    assert "a" in refused.value.saw


def test_nothing_is_predicted_where_nothing_can_be() -> None:
    with pytest.raises(DiagnoseError, match="no complete step was recorded") as refused:
        what_if([Question("remove", "python")], predicted(trace_from_text("main 0 5 annotation x")))
    assert not isinstance(refused.value, UsageError)


# ---- ranks together


def test_workers_that_do_not_keep_up_hold_up_all_ranks() -> None:
    # On either rank a batch takes 300 us to load, all else 5: two workers need 150 a batch.
    loads = "annotation enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    text = "\n".join(
        f"main {at} 305 step ProfilerStep#{number}\nmain {at} 300 {loads}\nmain {at + 300} 5 op aten::mm\n"
        f'main {at + 301} 1 runtime cudaLaunchKernel {{"correlation": {number + 1}}}\n'
        f'gpu {at + 302} 2 kernel ncclDevKernel_AllReduce {{"correlation": {number + 1}}}'
        for number, at in enumerate(range(0, 6 * 305, 305))
    )
    ranks = [Prediction(measured_case({"timeline": text})) for _ in range(2)]
    answer = what_if_together([Question("workers", "2")], ranks)
    assert [then_ms for _, then_ms in answer.alone_ms] == pytest.approx([0.15, 0.15])
    assert answer.then_ms == pytest.approx(0.15)
