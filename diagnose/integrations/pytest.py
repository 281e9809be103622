"""Fixtures for pytest, there wherever the package is installed:

    def test_my_step_is_not_slower(assert_not_slower):
        assert_not_slower(new_step, than=old_step, tolerance=0.05)

    def test_nothing_is_left_to_mend(diagnose_step):
        assert not diagnose_step(train_step).plan

Nothing heavy is imported before one is used.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from diagnose.document.model import Document

MOST_STEPS = 10_000


@pytest.fixture
def diagnose_step(tmp_path: Path) -> Callable[..., Document]:
    """`diagnose_step(function, steps=8)`: calls the function as often as a recording needs, a call a step;
    gives the result document. Its reports lie in the test's `tmp_path`.
    """

    def diagnosed(function: Callable[[], object], steps: int | None = None) -> Document:
        from diagnose.in_process import record

        with record(tmp_path / "diagnosis", steps=steps) as recorder:
            for _ in range(MOST_STEPS):
                function()
                recorder.step()
                if recorder.done:
                    break
        assert recorder.document is not None, "diagnose could not record these steps"
        return recorder.document

    return diagnosed


@pytest.fixture
def assert_not_slower() -> Callable[..., None]:
    """`assert_not_slower(function, than=other, tolerance=0.05, budget_s=10)`: both are called in turns until
    it is certain. Where it cannot be told the test is skipped, with the reason: that is neither a pass nor a
    failure.
    """

    def asserted(
        function: Callable[[], object],
        *,
        than: Callable[[], object],
        tolerance: float = 0.05,
        budget_s: float = 10.0,
    ) -> None:
        from diagnose.document.text import ms
        from diagnose.verify.functions import held_against

        __tracebackhide__ = True
        timed = held_against(than, function, tolerance=tolerance, budget_s=budget_s)
        found = timed.comparison
        told = (
            f"{found.change:+.1%} ({found.low:+.1%} to {found.high:+.1%}), {ms(found.after_ms)} instead "
            f"of {ms(found.before_ms)}, by {found.pairs} pairs"
        )
        if timed.decision == "slower":
            pytest.fail(f"slower by more than {tolerance:.0%}: {told}", pytrace=False)
        if timed.decision == "unclear":
            pytest.skip(f"too noisy to tell: {told}; about {timed.pairs_needed} would be needed")

    return asserted
