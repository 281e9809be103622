"""What only some steps have comes off the average step, whatever the GPU leaves of the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diagnose.document.build import result_document
from diagnose.document.savings import average_ms
from diagnose.judge.findings import Finding, judge
from diagnose.judge.gates import cases_of
from diagnose.judge.rules import Saving, load_rules, rules_folder
from diagnose.judge.timelines import measured_case
from diagnose.measure.account import account
from diagnose.measure.sources import Sources
from diagnose.predict.on_average import Seldom, longer_ms, saved_ms
from diagnose.predict.plan import assess
from diagnose.predict.prediction import Prediction
from diagnose.predict.saving import saving_of
from diagnose.predict.whatif import Question, what_if

RULE = load_rules()["epoch-end-work"]
# The GPU works all the time: nothing on the host makes a step shorter.
GPU_BOUND = """
main  0    100   op       aten::mm
main  10   10    runtime  cudaLaunchKernel  {"correlation": 1}
gpu   20   980   kernel   gemm              {"correlation": 1}
main  0    1000  step     ProfilerStep#1
"""


def test_a_gpu_that_is_always_busy_does_not_bound_it() -> None:
    """An evaluation of 1 ms a step on average, of which half is left; the other steps take 1 ms."""
    half = replace(RULE, saving=Saving("remove", "average", ratio=0.5, between=(0.5, 0.5)))
    prediction = Prediction(measured_case({"timeline": GPU_BOUND, "plain_ms": [1.0] * 5}))
    saving = saving_of(Finding(half, "fires", (), 1.0), prediction)
    assert saving is not None and saving.predicted_ms == pytest.approx(0.5)
    of_each_step = replace(half, saving=replace(half.saving, scope="step"))
    bounded = saving_of(Finding(of_each_step, "fires", (), 0.5), prediction)
    assert bounded is not None and bounded.predicted_ms < 0.1


ALL = Seldom("recurring-evaluation", of_ms=1.5, saved_ms=0.75)
PART = Seldom("small-evaluation-batches", of_ms=1.2, saved_ms=0.8, within=(ALL.rule, "epoch-end-work"))
OTHER = Seldom("recurring-checkpoint", of_ms=2.0, saved_ms=1.0)


def test_what_two_findings_are_about_counts_once() -> None:
    assert (longer_ms([PART]), longer_ms([ALL, PART]), longer_ms([PART, ALL, OTHER])) == (1.2, 1.5, 3.5)
    wider = replace(PART, of_ms=1.8)  # 0.3 of it in evaluations that the other one leaves out
    assert longer_ms([wider, ALL]) == pytest.approx(1.8)


def test_of_what_another_fix_leaves_a_part_saves_its_share() -> None:
    """Half of the evaluations are left, and with them half of what larger batches save."""
    assert saved_ms([PART]) == pytest.approx(0.8)
    assert saved_ms([ALL, PART]) == saved_ms([PART, ALL]) == pytest.approx(0.75 + 0.4)
    assert saved_ms([PART, OTHER]) == pytest.approx(1.8)


def test_the_step_then_of_an_evaluation_in_small_batches() -> None:
    """Steps of 10 ms, every tenth one 25: 11.5 on average, of which no more than the 1.5 can go. Evaluating
    less often then gains too little to be planned.
    """
    (case,) = [
        case for case, _ in cases_of("small-evaluation-batches", rules_folder()) if "13 %" in case["name"]
    ]
    measured = measured_case(case)
    prediction = Prediction(measured)
    assessed = assess(judge(load_rules(), measured), measured, prediction)
    document = result_document(measured, prediction, assessed, account(measured), Sources(measured.recording))
    (row,) = document.plan
    assert row.rule == "small-evaluation-batches"
    assert average_ms(document) == pytest.approx(11.5)
    assert row.step_ms_after is not None and 10 <= row.step_ms_after < 11
    both = [Question("remove", rule) for rule in (row.rule, "recurring-evaluation")]
    answer, alone = what_if(both, prediction), what_if(both[:1], prediction)
    assert answer.now_ms == alone.now_ms == pytest.approx(11.5)
    assert 10 <= answer.then_ms < alone.then_ms


def test_rules_about_a_part_name_rules_about_what_some_steps_have() -> None:
    rules = load_rules()
    wholes = {whole for rule in rules.values() for whole in rule.saving.within}
    assert wholes and {rules[whole].saving.scope for whole in wholes} == {"average"}
