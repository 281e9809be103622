"""What a setting costs, by trials made up here."""

from __future__ import annotations

import pytest

from diagnose.judge.findings import finding
from diagnose.judge.rules import load_rules
from diagnose.judge.timelines import measured_case
from diagnose.measure.metrics import Measured
from diagnose.measure.missing import Missing
from diagnose.predict.prediction import Prediction
from diagnose.predict.saving import saving_of
from diagnose.predict.widths import widths

AS_IS = [10.0, 10.2, 10.4, 90.0, 10.1, 10.3]
LINE = {"file": "train.py", "line": 7, "function": "main"}


def tried(changed: list[float], setting: str = "anomaly_mode", **facts: object) -> Measured:
    trial = {"setting": setting, "value": 2, "as_is_ms": AS_IS[: len(changed)], "changed_ms": changed}
    timeline = """
    main  0  10000  step  ProfilerStep#1
    main  0  8000   mark  forward@30
    main  0  7000   op    aten::mm
    """
    return measured_case({"timeline": timeline, "facts": {"setting_trials": [trial], **facts}})


def test_the_shorter_steps_of_each_kind_are_compared() -> None:
    measured = tried([4.0, 4.04, 80.0, 4.1, 4.08, 4.06], modes={"anomaly_mode": LINE})
    # quartiles of six: a quarter of the way from the second to the third
    assert measured.metric("anomaly_detection_share") == pytest.approx(1 - 4.045 / 10.125)
    assert measured.metric("anomaly_detection_ms") == pytest.approx(10 * (1 - 4.045 / 10.125))


@pytest.mark.parametrize(
    "changed",
    [[10.0, 10.3, 10.1, 10.2, 50.0, 10.4], [30.0, 31.0, 29.0, 30.0, 30.0, 30.0], [1.0, 1.0, 1.0]],
    ids=["the same", "longer", "too few"],
)
def test_what_is_not_clearly_shorter_is_not_known(changed: list[float]) -> None:
    assert isinstance(tried(changed).metric("anomaly_detection_ms"), Missing)


def test_where_no_trial_tells_it_anomaly_detection_takes_at_least_its_checks_for_nan() -> None:
    timeline = """
    main  0     10000  step  ProfilerStep#1
    main  1000  100    op    aten::isnan
    main  4000  1000   op    autograd::engine::evaluate_function: MulBackward0
    main  4500  200    op    aten::isnan
    main  4700  100    op    aten::_is_any_true
    main  4710  50     op    aten::any
    """
    facts = {"anomaly_mode": True, "modes": {"anomaly_mode": LINE}, "setting_trials": []}
    measured = measured_case({"timeline": timeline, "facts": facts})
    assert measured.metric("anomaly_detection_ms") == pytest.approx(0.3)  # the first is the script's own


def test_threads_that_gain_nothing_gain_0_and_no_estimate_says_otherwise() -> None:
    two = {"cpu_core_count": 2, "thread_count": 1}
    assert tried([10.2] * 6, "threads", **two).metric("more_threads_share") == 0
    assert tried([5.0] * 6, "threads", **two).metric("more_threads_share") == pytest.approx(1 - 5 / 10.125)


@pytest.mark.parametrize(("plain_ms", "gain"), [(8.0, 1 - 5 / 10.125), (7.0, 0.0)])
def test_a_number_of_threads_that_was_tried_beside_busy_programs_tells_nothing(
    plain_ms: float, gain: float
) -> None:
    """Steps as they are took 10.125 ms then: more than 1.3 × 7, and less than 1.3 × 8."""
    trial = {"setting": "one_thread", "value": 1, "as_is_ms": AS_IS, "changed_ms": [5.0] * 6}
    timeline = (
        "main  0  10000  step  ProfilerStep#1\nmain  0  9900  mark  forward@30\nmain  0  9900  op  aten::mm"
    )
    measured = measured_case(
        {"timeline": timeline, "facts": {"setting_trials": [trial]}, "plain_ms": [plain_ms] * 8}
    )
    assert measured.metric("one_thread_gain_share") == pytest.approx(gain)


@pytest.mark.parametrize(
    ("others", "worker_count", "gain"),
    [
        (0.09, 0, 1 - 5 / 10.125),
        (None, 0, 1 - 5 / 10.125),  # the kernel does not tell
        (0.1, 0, 0.0),
        (0.1, 2, 1 - 5 / 10.125),  # the loader's own
    ],
)
def test_so_does_one_while_which_others_took_a_tenth_of_the_machine(
    others: float | None, worker_count: int, gain: float
) -> None:
    trial = {"setting": "one_thread", "value": 1, "as_is_ms": AS_IS, "changed_ms": [5.0] * 6}
    timeline = (
        "main  0  10000  step  ProfilerStep#1\nmain  0  9900  mark  forward@30\nmain  0  9900  op  aten::mm"
    )
    facts = {
        "setting_trials": [trial | {"others_share": others}],
        "loaders": [{"num_workers": worker_count, "next_count": 8, "batch_size": 4}],
    }
    measured = measured_case({"timeline": timeline, "facts": facts, "plain_ms": [10.0] * 8})
    assert measured.metric("one_thread_gain_share") == pytest.approx(gain)


def test_gradients_are_blamed_on_the_line_that_calls_the_model() -> None:
    measured = tried([5.0] * 6, "gradients")
    assert measured.metric("unused_gradients_ms") == pytest.approx(10 * (1 - 5 / 10.125))
    assert measured.metric("unused_gradients_count_per_step") == 1


# ---- fused updates


def updated(changed: list[float] | None) -> Measured:
    """A step of 10 ms, 2 of them in Adam; an update took 10 ms (lower quartile: 10.125) when it was tried."""
    trial = {"setting": "fused_update", "value": True, "as_is_ms": AS_IS, "changed_ms": changed}
    timeline = """
    main  0     10000  step        ProfilerStep#1
    main  1000  2000   annotation  Optimizer.step#Adam.step
    main  1000  1000   op          aten::lerp_
    main  2000  500    op          aten::mul_
    main  2500  500    op          aten::addcdiv_
    main  4000  5000   op          aten::mm
    """
    return measured_case({"timeline": timeline, "facts": {"setting_trials": [trial] if changed else []}})


def test_a_fused_update_gains_of_the_update_what_it_gained_when_tried() -> None:
    measured = updated([5.0] * 6)
    assert measured.metric("fused_update_left") == pytest.approx(5 / 10.125)
    assert measured.metric("fused_update_gain_share") == pytest.approx(0.2 * (1 - 5 / 10.125))


def test_what_a_trial_says_stands_for_the_guess_and_makes_the_range_narrow() -> None:
    guess = {}
    for changed in ([5.0] * 6, None):
        measured = updated(changed)
        found = finding(load_rules()["optimizer-heavy"], measured)
        saving = saving_of(found, Prediction(measured))
        assert found.state == "fires" and saving is not None
        guess[changed is None] = saving
    # 2 ms in all; as tried 0.49 of it are left, else the rule's 0.35
    assert guess[False].predicted_ms == pytest.approx(2 * (1 - 5 / 10.125), rel=0.01)
    assert guess[True].predicted_ms == pytest.approx(2 * 0.65, rel=0.01)
    # how narrow is calibrated (`widths.toml`): as where the work goes, and narrower than a guess
    width = widths()["whole"]
    ends = width.range_ms((guess[False].predicted_ms,), 10.0)
    assert (guess[False].low_ms, guess[False].high_ms) == pytest.approx(ends)
    tried, not_tried = (guess[is_guess].high_ms / guess[is_guess].low_ms for is_guess in (False, True))
    assert tried < not_tried


def test_a_fused_update_that_is_no_faster_is_not_advised() -> None:
    measured = updated([10.2] * 6)
    assert measured.metric("fused_update_left") == 1
    assert finding(load_rules()["optimizer-heavy"], measured).state == "quiet"
