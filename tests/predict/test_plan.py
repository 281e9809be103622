"""The order of the plan and what its rows add up to, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diagnose.judge.findings import Finding
from diagnose.judge.rules import Rule, Saving, load_rules
from diagnose.judge.timelines import measured_case
from diagnose.measure.measured import Measured
from diagnose.predict.plan import Assessed, assess
from diagnose.predict.prediction import Prediction

RULES = load_rules()


# A step of 100 ms: 40 ms of loading in the main process, 40 ms of an operator,
# 20 ms of Python. The noise is 1 ms.
def step_of(plain_ms: list[float], shapes: int = 1) -> Measured:
    return measured_case(
        {
            "timeline": "main 0 100000 step ProfilerStep#1\nmain 0 40000 mark next@12\nmain 40000 40000 op "
            "aten::mm",
            "facts": {
                "cpu_core_count": 8,
                "loaders": [{"num_workers": 0, "dataset_length": 100}],
                "forward": {"shape_count": shapes},
            },
            "plain_ms": plain_ms,
            "fetch_ms": [40, 40, 40],
        }
    )


STEP = step_of([100, 100, 100])
HIDES = RULES["input-wait-no-workers"]
CURES = replace(
    HIDES,
    id="cure",
    saving=Saving("remove", "step"),
    fix=replace(HIDES.fix, intervention="", safety="manual"),
)
ELSEWHERE = replace(RULES["python-between-operators"], id="elsewhere", saving=Saving("remove", "step"))


def fired(rule: Rule, ms: float) -> Finding:
    return Finding(rule, "fires", (), ms, (), row="python" if rule is ELSEWHERE else "input_wait")


# The same with 80 ms of loading on two cores: two workers take 40 ms a batch, but
# 100 ms of work take two cores 50 ms.
MOSTLY_LOADING = measured_case(
    {
        "timeline": "main 0 100000 step ProfilerStep#1\nmain 0 80000 mark next@12\nmain 80000 20000 op "
        "aten::mm",
        "facts": {"cpu_core_count": 2, "loaders": [{"num_workers": 0, "dataset_length": 100}]},
        "plain_ms": [100, 100, 100],
        "fetch_ms": [80, 80, 80],
    }
)


def all_of(*findings: Finding, step: Measured = STEP) -> list[Assessed]:
    return assess(list(findings), step, Prediction(step))


def plan(*findings: Finding, step: Measured = STEP) -> list[Assessed]:
    return [one for one in all_of(*findings, step=step) if one.group == "plan"]


def order(*findings: Finding, step: Measured = STEP) -> list[str]:
    return [one.finding.rule.id for one in plan(*findings, step=step)]


def test_of_two_that_gain_as_much_the_easier_comes_first_and_the_other_is_its_alternative() -> None:
    # Workers hide all 40 ms, by one argument; the script's line has to be
    # rewritten to gain them, or a little less.
    first, second = all_of(fired(CURES, 40), fired(HIDES, 40))
    assert (first.finding.rule.id, first.group) == (HIDES.id, "plan")
    assert (second.finding.rule.id, second.group, second.alternative_to) == ("cure", "alternative", HIDES.id)


def test_what_gains_most_comes_first_however_hard_it_is() -> None:
    # Two workers gain 44 of the 80 ms: on few cores they also slow the other 20 by 0.3 of them. Without the 80 they gain nothing more.
    first, second = all_of(fired(HIDES, 80), fired(CURES, 80), step=MOSTLY_LOADING)
    assert (first.finding.rule.id, first.saving.predicted_ms) == ("cure", pytest.approx(80))  # type: ignore[union-attr]
    assert (second.group, second.alternative_to, second.saving.predicted_ms) == (
        "alternative",
        "cure",
        pytest.approx(44),
    )  # type: ignore[union-attr]


def test_workers_have_less_to_load_where_a_cheaper_fetch_comes_beside_them() -> None:
    # 40 of the 80 ms cured, and the rest hidden: 60 ms of work take two cores 30 ms, two workers 20
    # ms a batch, the rest of the step 20, and 6 more beside the workers.
    first, second = plan(fired(HIDES, 80), fired(CURES, 40), step=MOSTLY_LOADING)
    assert [first.cumulative_ms, second.cumulative_ms] == pytest.approx([44, 64])


@pytest.mark.parametrize("gain_ms", [-1.0, float("nan")])
def test_findings_that_gain_nothing_at_all_are_minor(monkeypatch: pytest.MonkeyPatch, gain_ms: float) -> None:
    monkeypatch.setattr("diagnose.predict.plan._gain_ms", lambda *_: gain_ms)
    assert [one.group for one in all_of(fired(HIDES, 40), fired(CURES, 40))] == ["minor", "minor"]


@pytest.mark.parametrize(("then_ms", "group"), [(0.7, "minor"), (0.5, "alternative")])
def test_what_still_gains_most_of_its_own_is_no_alternative(
    monkeypatch: pytest.MonkeyPatch, then_ms: float, group: str
) -> None:
    """1.2 ms by itself, and then less than the noise of 1 ms: only where that is less than half is it another
    way to the same.
    """
    monkeypatch.setattr("diagnose.predict.plan._gain_ms", lambda _, made, __: then_ms if made else 1.2)
    other = replace(fired(ELSEWHERE, 40), row="input_wait")
    assert [one.group for one in all_of(fired(HIDES, 40), other)] == ["plan", group]


def test_other_findings_keep_the_order_of_their_savings() -> None:
    assert order(fired(HIDES, 40), fired(ELSEWHERE, 20)) == [HIDES.id, "elsewhere"]
    assert order(fired(ELSEWHERE, 18), fired(CURES, 21)) == ["cure", "elsewhere"]


def test_rows_say_what_they_gain_alone_and_with_those_before() -> None:
    # Two workers fetch 40 ms in the 60 ms of the rest: nothing waits. Without 20 ms of Python
    # the rest is 40, and two still keep up.
    first, second = plan(fired(HIDES, 40), fired(ELSEWHERE, 20))
    assert [first.saving.predicted_ms, second.saving.predicted_ms] == pytest.approx([40, 20])  # type: ignore[union-attr]
    assert [first.cumulative_ms, second.cumulative_ms] == pytest.approx([40, 60])


def test_what_adds_nothing_to_those_before_it_is_not_in_the_plan() -> None:
    # Hiding the 40 ms leaves nothing of them to do away with.
    assert order(fired(HIDES, 40), fired(CURES, 19)) == [HIDES.id]
    # less than the noise is no alternative
    assert [one.group for one in all_of(fired(HIDES, 40), fired(CURES, 0.8))] == ["plan", "minor"]


def test_what_is_below_the_noise_is_not_in_the_plan() -> None:
    assert order(fired(CURES, 0.8)) == []
    assert order(fired(CURES, 1.1)) == ["cure"]


def test_noise_hides_what_is_counted_in_the_steps_up_to_a_medium_saving() -> None:
    """Steps of 100 ms differ by 14 (2 × 1.2533 × 1.4826 × 6.4 / √3): above 8 ms it hides only differences
    between steps.
    """
    noisy = step_of([93.6, 100, 106.4])
    assert noisy.number("noise_ms") == pytest.approx(13.7, abs=0.1)
    assert order(fired(CURES, 9), step=noisy) == ["cure"]
    assert order(fired(CURES, 7), step=noisy) == []
    between = replace(CURES, saving=Saving("remove", "average"))
    assert order(fired(between, 9), step=noisy) == []
    assert order(fired(between, 15), step=noisy) == ["cure"]


def test_a_row_says_which_step_its_share_is_of() -> None:
    """10 ms a step on average of some steps only, of a step of 110; 40 of each step of 100."""
    between = replace(CURES, saving=Saving("remove", "average"))
    (some,) = plan(fired(between, 10))
    assert (some.of_ms, some.share) == (pytest.approx(110), pytest.approx(10 / 110))
    (each,) = plan(fired(HIDES, 40))
    assert (each.of_ms, each.share) == (pytest.approx(100), pytest.approx(0.4))


def test_what_nobody_makes_is_in_no_sum() -> None:
    """12.8 of 16 ms of some steps are less than this noise, 9 ms of each step are not."""
    noisy = step_of([93.6, 100, 106.4])
    some_steps = Saving("remove", "average", ratio=0.2, between=(0.0, 0.7))
    between = replace(CURES, saving=some_steps)
    rows = {row.finding.rule.id: row for row in all_of(fired(between, 16), fired(ELSEWHERE, 9), step=noisy)}
    assert {rule: row.group for rule, row in rows.items()} == {"cure": "minor", "elsewhere": "plan"}
    assert rows["elsewhere"].cumulative_ms == pytest.approx(9)


def test_batches_of_different_shapes_hide_only_what_is_below_five_percent() -> None:
    """The same steps: they differ because their batches do."""
    differ = step_of([93.6, 100, 106.4], shapes=3)
    assert order(fired(CURES, 5.1), step=differ) == ["cure"]
    assert order(fired(CURES, 4.9), step=differ) == []
    between = replace(CURES, saving=Saving("remove", "average"))
    assert order(fired(between, 9), step=differ) == []


def test_what_is_never_right_is_planned_below_the_noise_too_and_severe_without_a_number() -> None:
    certain = replace(CURES, severity="high")
    (row,) = plan(fired(certain, 0.8))
    assert row.severity == "high"
    (unknown,) = plan(replace(fired(certain, 0.0), ms_per_step=None))
    assert unknown.severity == "high"


def test_what_is_severe_without_a_number_comes_before_all_gains() -> None:
    """A run whose loss is NaN need not become faster."""
    worthless = Finding(RULES["loss-not-finite"], "fires", (), None, ())
    unknown = Finding(replace(worthless.rule, id="unknown", severity=None), "fires", (), None, ())
    assert order(fired(CURES, 40), unknown, worthless) == ["loss-not-finite", "cure", "unknown"]


# Half a millisecond of host work before two waits for one kernel, half behind them.
TWO_SYNCS = """
main  0    2000  step     ProfilerStep#1
main  2000 2000  step     ProfilerStep#2
main  0    2000  annotation train                {"repeat": 2, "every": 2000}
main  0    100   op       aten::mm               {"repeat": 2, "every": 2000}
main  10   10    runtime  cudaLaunchKernel       {"repeat": 2, "every": 2000, "correlation": 10}
gpu   30   1170  kernel   gemm                   {"repeat": 2, "every": 2000, "correlation": 10}
main  490  720   mark     synchronize@5          {"repeat": 2, "every": 2000}
main  500  700   runtime  cudaDeviceSynchronize  {"repeat": 2, "every": 2000, "correlation": 20}
main  1220 30    mark     item@6                 {"repeat": 2, "every": 2000}
main  1225 20    op       aten::item             {"repeat": 2, "every": 2000}
main  1230 10    runtime  cudaStreamSynchronize  {"repeat": 2, "every": 2000, "correlation": 30}
main  1300 650   op       aten::add              {"repeat": 2, "every": 2000}
"""


def test_of_two_waits_one_after_the_other_both_have_to_go() -> None:
    # Without the first, the host waits at the second for the same kernel, and goes on at 1,205
    # µs instead of 1,240. Without both it goes on after 535 µs, and needs some 1,300 for a
    # step; the kernel of 1,170 runs beside that.
    measured = measured_case({"timeline": TWO_SYNCS})
    explicit, scalar = (
        Finding(RULES[name], "fires", (), 0.7, (), row="host_sync")
        for name in ("sync-explicit", "sync-scalar-read")
    )
    first, second = assess([explicit, scalar], measured, Prediction(measured))
    assert [first.saving.predicted_ms, second.saving.predicted_ms] == pytest.approx([0.035, 0], abs=0.001)  # type: ignore[union-attr]
    assert (first.group, second.group) == ("plan", "plan")
    assert second.cumulative_ms == pytest.approx(0.7, abs=0.03)


def test_of_a_setting_tried_in_turns_noise_hides_only_what_is_below_five_percent() -> None:
    noisy = step_of([93.6, 100, 106.4])
    tried = replace(CURES, saving=Saving("quicken", "step"))
    assert order(fired(tried, 5.1), step=noisy) == ["cure"]
    assert order(fired(tried, 4.9), step=noisy) == []


def test_a_setting_saves_its_part_of_what_another_fix_of_the_same_work_leaves() -> None:
    """Of 40 ms a fix leaves half, and a setting 60 % of anything: 12 together. Of work that goes 20 are left."""
    for edit, left_ms in (("quicken", 12), ("remove", 20)):
        other = replace(CURES, id="other", saving=Saving(edit, "step"))
        rows = all_of(fired(CURES, 20), fired(other, 16))
        assert 40 - max(row.cumulative_ms or 0.0 for row in rows) == pytest.approx(left_ms)
