"""Predictions held against measurements: which pairs there are, and what each tells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from diagnose.commands import main as cli
from diagnose.document.stored import to_json
from diagnose.document.text import share
from diagnose.report.accuracy import accuracy_rows, accuracy_text, in_sum
from diagnose.verify.accuracy import Found, Pair, found_below, summary

from ..report.test_verification import proof, tried

PREDICTED = (3.0, 3.5, 4.0)


def pair(measured: tuple[float, float, float], verdict: Any = None, of_ms: float | None = None) -> Pair:
    return Pair("run", "rule", 10.0, PREDICTED, measured, of_ms, verdict)


@pytest.mark.parametrize(
    ("measured", "verdict", "inside"),
    [
        ((3.8, 4.5, 5.0), "faster", True),
        ((4.2, 4.5, 5.0), "faster", False),
        ((0.5, 1.0, 2.9), "faster", False),
        ((-95.0, 1.0, 13.0), "too_noisy", None),  # 3 to 4 ms, or none, or anything
        ((-1.0, 1.0, 2.0), "too_noisy", False),  # noisy, but 3 it is not
        ((1.0, 3.0, 5.0), "less_work", None),
        ((-0.5, 1.0, 3.1), "no_change", None),
        ((-1.0, 0.0, 1.0), "no_change", False),
    ],
)
def test_a_noisy_measurement_is_neither_inside_nor_outside(
    measured: tuple[float, float, float], verdict: str, inside: bool | None
) -> None:
    assert pair(measured, verdict).inside is inside


def test_the_share_inside_is_of_those_that_tell() -> None:
    pairs = [pair((3.8, 4.5, 5.0)), pair((4.2, 4.5, 5.0)), pair((-95.0, 1.0, 13.0), "too_noisy")]
    known = summary(pairs)
    assert (known.count, known.told, known.inside) == (3, 2, 0.5)
    assert in_sum(pairs).endswith(f"in {share(0.5)} of the 2 of which it can be told.")
    assert in_sum(pairs[2:]).endswith(
        "of none it can be told whether the measured saving is inside the predicted range."
    )
    assert [row[-1] for row in accuracy_rows(pairs)] == ["yes", "no", "cannot tell"]


def test_a_prediction_is_taken_as_the_same_share_of_the_measured_step() -> None:
    assert pair((0.0, 0.0, 0.0), of_ms=20.0).expected_ms == (1.5, 1.75, 2.0)


def test_what_makes_no_pair_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of five fixes one makes a pair; and one of two files cannot be read."""
    rows = [
        tried(),
        tried(state="failed", change=None, verdict=None),
        tried(state="not_held", change=None, verdict=None),
        tried(predicted_with={"num_workers": 4}),
        tried(beside=["other"]),
    ]
    for name, text in {"a": to_json(proof(*rows)), "b": "{"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "verify.json").write_text(text)
    found = found_below(tmp_path)
    assert len(found.pairs) == 1
    assert found.left_out == {
        "failed": 1,
        "did not take hold": 1,
        "were measured with other arguments": 1,
        "were measured beside others": 1,
        "are files that cannot be read": 1,
    }
    assert cli.main(["accuracy", str(tmp_path)]) == 0
    assert (
        "Left out: 1 that are files that cannot be read, 1 that did not take hold" in capsys.readouterr().out
    )


def test_nothing_left_out_is_not_mentioned() -> None:
    assert "Left out" not in accuracy_text(Found([pair((3.8, 4.5, 5.0))], {}))
