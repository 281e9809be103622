"""Whether results stay the same, worked out by hand."""

import math

import pytest

from diagnose.fixes.all import tolerance_of
from diagnose.verify.results import data_differ, results


def trial(losses=None, outputs=None, hashes=("a", "b")) -> dict:
    return {"losses": losses, "outputs": outputs, "batch_hashes": list(hashes)}


SCRIPT = trial([2.0, 1.0, 0.5])


@pytest.mark.parametrize(
    ("after", "agreement", "deviation"),
    [
        ([2.0, 1.0, 0.5], "same", 0.0),
        ([2.0, 1.0], "same", 0.0),  # as far as both go
        ([2.0, 1.005, 0.5], "close", 0.005),
        ([2.0, 1.1, 0.5], "differ", 0.1),
        ([2.0, 1.0, math.nan], "differ", math.inf),
    ],
)
def test_losses_are_the_same_close_or_not(after: list[float], agreement: str, deviation: float) -> None:
    found = results(SCRIPT, SCRIPT, trial(after))
    assert found.agreement == agreement
    assert found.deviation == pytest.approx(deviation)


def test_a_tiny_loss_counts_no_more_than_a_hundredth_of_the_first() -> None:
    found = results(trial([1.0, 1e-6]), trial([1.0, 1e-6]), trial([1.0, 3e-6]))
    assert found.agreement == "close" and found.deviation == pytest.approx(2e-6 / 0.01)


def test_a_script_that_differs_from_itself_tells_nothing() -> None:
    assert results(SCRIPT, trial([2.0, 0.9]), trial([2.0, 0.8])).agreement == "unsteady"


@pytest.mark.parametrize(
    ("again", "after", "agreement"),
    [
        (0.5000000001, math.nan, "differ"),  # only one of two is a number
        (0.5000000001, 800.0, "differ"),
        (0.5000000001, 0.501, "unsteady"),  # off by 0.2 %, within the tolerance
        (0.51, 0.59, "unsteady"),  # off by 18 %, ten times its own 2 % are 20
        (0.51, 0.61, "differ"),  # by 22 %
        (math.nan, 0.8, "unsteady"),  # it becomes nan now and then by itself
    ],
)
def test_a_script_that_differs_a_little_from_itself_may_differ_no_more_with_a_fix(
    again: float, after: float, agreement: str
) -> None:
    assert results(SCRIPT, trial([2.0, 1.0, again]), trial([2.0, 1.0, after])).agreement == agreement


def test_sixteen_bits_may_deviate_more() -> None:
    loose, strict = tolerance_of(["optimizer", "autocast"]), tolerance_of(["optimizer"])
    assert results(SCRIPT, SCRIPT, trial([2.0, 1.03, 0.5]), loose).agreement == "close"
    assert results(SCRIPT, SCRIPT, trial([2.0, 1.03, 0.5]), strict).agreement == "differ"


def test_the_same_losses_of_other_data_are_no_agreement() -> None:
    others = trial([2.0, 1.0, 0.5], hashes=("a", "c"))
    assert results(SCRIPT, SCRIPT, others).agreement == "other_data"
    # the script's own data differ from run to run
    assert results(SCRIPT, trial([2.0, 1.0, 0.5], hashes=("x",)), others).agreement == "same"


def outputs(*rows: tuple[str, list[float]]) -> dict:
    return trial(outputs=[list(row) for row in rows])


def test_without_losses_what_the_model_returns_is_compared() -> None:
    one = outputs(("x", [1.0, -4.0]), ("y", [0.0, 2.0]))
    same = results(one, one, outputs(("x", [1.0, -4.0]), ("y", [0.0, 2.0]), ("z", [])))
    assert (same.agreement, same.compared) == ("same", 2)
    close = results(one, one, outputs(("x2", [1.0, -4.0]), ("y2", [0.01, 2.0])))
    assert (close.agreement, close.deviation) == ("close", 0.005)  # 0.01 of the largest, 2
    assert results(one, one, outputs(("x2", [1.5, -4.0]))).deviation == 0.125
    assert results(one, one, outputs(("x2", []))).deviation == math.inf
    assert results(trial(), trial(), trial()).agreement == "unknown"


def test_losses_that_are_no_numbers_are_the_same_losses() -> None:
    broken = trial([2.0, math.nan])
    assert results(broken, broken, trial([2.0, float("nan")])).agreement == "same"


@pytest.mark.parametrize(
    ("mine", "theirs", "differ"), [("ab", "abc", False), ("ab", "ac", True), ("", "ab", False)]
)
def test_data_are_compared_as_far_as_both_go(mine: str, theirs: str, differ: bool) -> None:
    assert data_differ(trial(hashes=mine), trial(hashes=theirs)) is differ
