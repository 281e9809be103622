"""The ends of a predicted range, worked out by hand, and the file that they come from."""

from __future__ import annotations

import pytest

from diagnose.judge.rules import Saving, load_rules
from diagnose.predict.saving import confidence_of
from diagnose.predict.widths import KINDS, Width, is_guess, kind_of, times_odds, widths


@pytest.mark.parametrize(
    ("gain", "factor", "expected"),
    [
        (2.0, 2.0, 10 / 3),  # odds 2 : 8, doubled 1 : 2
        (9.0, 0.5, 90 / 11),  # odds 9 : 1, halved 9 : 2
        (2.0, 1.0, 2.0),
        (2.0, 0.0, 0.0),
        (0.0, 2.0, 0.0),
        (10.0, 0.5, 10.0),  # all of the step
    ],
)
def test_a_gain_of_a_step_of_10_ms_by_its_odds(gain: float, factor: float, expected: float) -> None:
    assert times_odds(gain, 10.0, factor) == pytest.approx(expected)


def test_a_range_goes_from_the_worst_outcome_to_the_best() -> None:
    # 5 : 5 halved is 1 : 2; 8 : 2 doubled is 8 : 1
    assert Width(0.5, 2.0).range_ms((6.0, 8.0, 5.0), 10.0) == pytest.approx((10 / 3, 80 / 9))


@pytest.mark.parametrize(
    ("saving", "kind"),
    [
        (Saving("remove", "step", 0.0, (0.0, 0.1)), "whole"),
        (Saving("unblock", "step", 0.0, None), "whole"),
        (Saving("shrink", "step", 0.4, (0.05, 0.6)), "rewritten"),
        (Saving("overlap", "step"), "workers"),
        (Saving("remove", "average", 0.0, (0.0, 0.1)), "some-steps"),
        (Saving("retime", "step", 0.5, (0.1, 1.0), formats=("float32", "bfloat16")), "retimed"),
    ],
)
def test_kinds_of_predictions(saving: Saving, kind: str) -> None:
    assert kind_of(saving) == kind


def test_the_file_holds_a_width_of_every_kind() -> None:
    assert set(widths()) == set(KINDS) == {*KINDS, *(kind_of(rule.saving) for rule in load_rules().values())}
    for width in widths().values():
        assert 0 <= width.low <= 1 <= width.high


def test_confidence_is_how_narrow_a_range_is_and_whether_it_was_ever_measured() -> None:
    measured, few = Width(0.7, 1.5, 20), Width(0.7, 1.5, 2, known=False)
    assert confidence_of(2.0, 4.0, measured) == "high"
    assert confidence_of(2.0, 4.0, few) == "medium"
    assert confidence_of(2.0, 4.0, measured, guessed=True) == "medium"
    assert confidence_of(2.0, 6.0, measured) == "medium"
    assert confidence_of(2.0, 9.0, measured) == confidence_of(0.0, 1.0, measured) == "low"


def test_what_may_leave_nearly_nothing_or_nearly_all_is_a_guess() -> None:
    assert is_guess(Saving("shrink", "step", ratio=0.5, between=(0.0, 0.9)))
    assert not is_guess(Saving("shrink", "step", ratio=0.5, between=(0.3, 0.7)))
    assert not is_guess(Saving("shrink", "step", ratio=0.5, between=(0.0, 0.9), tried="trial_left"))
    assert not is_guess(Saving("remove", "step"))
