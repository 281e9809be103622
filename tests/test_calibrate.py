"""Widths from pairs that are made up, counted by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import calibrate
from benchmarks.calibrate import Known, cost_shares, covered, keep, together, width, widths_of, written
from benchmarks.first_contact.entries import Fault


def known(factor: float, kind: str = "whole", *, seen: bool = True) -> Known:
    """Predicted to gain half of the step, odds 1; measured `factor` to 1."""
    gain = factor / (1 + factor)
    return Known("made up", f"{kind}-{factor}", "r", kind, 0.5, (gain, gain), seen)  # type: ignore[arg-type]


def test_odds_measured_by_those_predicted() -> None:
    assert known(2.0).factor == pytest.approx(2.0)
    assert Known("", "", "", "whole", 0.2, (0.1, 0.5)).factor == 1.0
    # 1 : 9 of 1 : 4, the end that is nearer
    assert Known("", "", "", "whole", 0.2, (0.05, 0.1)).factor == pytest.approx(4 / 9)
    assert Known("", "", "", "whole", 0.2, (-0.3, -0.1)).factor == 0.0


def test_a_measurement_that_spans_more_than_the_prediction_tells_nothing() -> None:
    assert not Known("", "", "", "whole", 0.2, (-0.1, 0.3)).tells
    assert Known("", "", "", "whole", 0.2, (-0.3, 0.1)).tells  # it excludes the prediction
    assert Known("", "", "", "whole", 0.2, (0.15, 0.3)).tells


def test_a_tenth_at_either_end_is_left_out() -> None:
    # 19 pairs and one to come: two at each end, less the one to come
    pairs = [known(factor / 10) for factor in range(1, 20)]
    found = width(pairs)
    assert (found.low, found.high, found.pairs, found.known) == (
        pytest.approx(0.2),
        pytest.approx(1.8),
        19,
        True,
    )
    assert sum(found.low <= pair.factor <= found.high for pair in pairs) >= 0.8 * 19


def test_unseen_scripts_are_covered_as_well() -> None:
    pairs = [known(1.0 + number / 100) for number in range(40)]
    assert width(pairs).high < 1.4
    unseen = [known(factor, seen=False) for factor in (3.0, 4.0, 5.0, 6.0, 60.0)]
    assert width([*pairs, *unseen]).high == pytest.approx(6.0)  # four of five


def test_a_kind_with_too_few_pairs_is_as_wide_as_all() -> None:
    pairs = [*(known(0.5 + number / 10) for number in range(20)), known(1.1, "workers")]
    found = widths_of(pairs)
    assert found["whole"].known and not found["workers"].known and not found["retimed"].known
    assert found["workers"].low <= found["whole"].low and found["workers"].high >= found["whole"].high
    assert all(covered(pairs, lambda pair: found)[1:-2])
    assert "[retimed]\nlow = " in written(found)


def test_variants_of_a_script_are_one_script() -> None:
    variants = [replace(known(1 + number / 10), name=f"resnet-w0-v{number}") for number in range(20)]
    assert not width(variants).known and width(variants).high == pytest.approx(2.8)
    assert width([*variants, *(known(1 + number / 10) for number in range(8))]).known


@pytest.mark.parametrize(
    ("how", "sure", "shares"),
    [
        ("A B B A; cost per pair in ms: 1.0, 3.0, -0.5", False, (-0.05, 0.3)),
        ("whole runs; shares per pair: 0.25 0.17 0.15 (mean), 0.1 (median)", False, (0.15, 0.25)),
        ("by hand", True, (0.2, 0.2)),
        ("by hand", False, None),
    ],
)
def test_what_an_oracle_says_of_a_cost(how: str, sure: bool, shares: tuple[float, float] | None) -> None:
    fault = Fault(("a.py:1",), cost_ms=2.0, step_ms=10.0, sure=sure, fix="", how=how)
    assert cost_shares(fault) == (pytest.approx(shares) if shares else None)


def test_a_row_at_several_faults_may_mean_any_of_them() -> None:
    # a tenth of all, a fifth of the nine tenths that are left: 0.1 + 0.18
    assert together([(0.05, 0.1), (0.2, 0.2)]) == pytest.approx((0.05, 0.28))
    assert together([(-0.02, 0.3)]) == pytest.approx((-0.02, 0.3))


def test_what_was_verified_is_kept_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate, "KEPT", tmp_path / "pairs.jsonl")
    pair = {"run": "a", "rule": "sleep-in-loop", "predicted_ms": [1.0, 2.0, 3.0], "predicted_of_ms": 10.0}
    pair |= {"verdict": "slower", "before_ms": 20.0, "measured_ms": [-3.0, -2.0, -1.0]}
    monkeypatch.setattr(calibrate, "pairs_below", lambda folder: [calibrate.Pair(**pair)])
    assert (keep(tmp_path), keep(tmp_path)) == (1, 0)
    assert len((tmp_path / "pairs.jsonl").read_text().splitlines()) == 1
    found = calibrate.verified()[0]
    assert found.predicted == pytest.approx(0.2)
    assert found.measured == pytest.approx((-0.15, -0.05))
    assert json.loads((tmp_path / "pairs.jsonl").read_text())["verdict"] == "slower"
