"""What is told of a fix that was tried, as the report has it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from diagnose.document.model import FixResult, Peak, TrialState
from diagnose.verify import statistics
from diagnose.verify.candidates import Candidate
from diagnose.verify.paired import NotComparable, Outcome, RunFailed
from diagnose.verify.timing import Trial

UNCLEAR = ("too_noisy", "less_work")


def not_measured(candidate: Candidate, state: TrialState, why: str) -> FixResult:
    """As long as no pair of runs was compared."""
    return FixResult(
        rule=candidate.rule,
        title=candidate.title,
        intervention=candidate.intervention,
        arguments=candidate.arguments,
        safety=candidate.safety,
        state=state,
        why=why,
        predicted_ms=candidate.predicted_ms,
        predicted_of_ms=candidate.predicted_of_ms,
    )


def without_verdict(tried: FixResult, reason: NotComparable | RunFailed) -> None:
    """What was measured before, if anything, is no longer told."""
    tried.state = "failed" if isinstance(reason, RunFailed) else "not_comparable"
    tried.why, tried.verdict, tried.change = str(reason), None, None


def is_unclear(tried: FixResult) -> bool:
    """Whether more pairs may tell more."""
    if tried.change is None:
        return tried.state == "no_time"
    return tried.verdict in UNCLEAR and tried.change.pairs + tried.change.outliers < statistics.LOOKS[-1]


def not_beside_others(fixes: Sequence[Candidate], run: Trial) -> str:
    """Which fixes did not take hold in a run with several."""
    idle = [
        one.rule or one.title for one, fix in zip(fixes, run["interventions"], strict=True) if not fix["held"]
    ]
    return f"{', '.join(idle)} did not take hold beside the others" if idle else ""


def why_not_held(trial: Trial) -> str:
    return next(
        (fix["why_not"] for fix in trial["interventions"][-1:] if fix["why_not"]),
        "the script never came by it",
    )


def memory_peaks(outcome: Outcome) -> dict[str, Peak]:
    """Peaks, as the median of each arm's runs; None where a kind of memory is not used."""
    kinds = ("peak_allocated_bytes", "peak_reserved_bytes", "peak_resident_bytes")
    return {
        kind: Peak(
            before=_median([run.get(kind) for run in outcome.before]),
            after=_median([run.get(kind) for run in outcome.after]),
        )
        for kind in kinds
    }


def _median(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None
