"""What the fix of a finding gains, predicted by replay: alone, with its range, and how well that is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from diagnose.judge.findings import Finding
from diagnose.judge.rules import IN_MS, Rule
from diagnose.judge.terms import Confidence
from diagnose.measure.ledger import BUSY_ROWS
from diagnose.measure.selection import SELECTORS, Selection
from diagnose.measure.view import Intervals, Rows
from diagnose.predict.bound import Outcome, at_most_ms, left_of
from diagnose.predict.edits import EDITS, Events
from diagnose.predict.prediction import Change, Prediction
from diagnose.predict.replay import Edit

OUTCOMES: tuple[Outcome, ...] = ("guess", "best", "worst")
# edits that take away recorded work instead of putting other work in its place
WELL_KNOWN = ("remove", "unblock", "overlap")
NARROW, WIDE = 0.7, 1.0  # width of the range ÷ the prediction, up to which confidence is high, medium
# By how much fixes gain less or more than predicted where nothing else is uncertain, of the gain
# and of what is left: docs/accuracy.md.
# × what the events take, which a fix gains at most: of 42 bundled pairs a third gained up to this much more
# than their events took, by less memory to get and caches left warm (docs/accuracy.md)
SIDE_EFFECTS = 1.15
SPREAD, SPREAD_OF_REST = (0.2, 0.35), 0.25


@dataclass(frozen=True)
class Saving:
    """ms of a plain step, never negative: best guess and range, and what no fix can gain more than;
    ``confidence`` is high, medium or low.
    """

    predicted_ms: float
    low_ms: float
    high_ms: float
    at_most_ms: float
    confidence: Confidence
    reason: str


def saving_of(finding: Finding, prediction: Prediction) -> Saving | None:
    """The finding's fix alone; None where its rule names no step time, or nothing can be predicted."""
    if prediction.missing is not None:
        return None
    saving = finding.rule.saving
    changes = [change_of(finding, prediction, outcome) for outcome in OUTCOMES]
    if changes[0] is None:
        return None
    gains = [_gain_ms(prediction, change) for change in changes]
    most_ms = _most_ms(finding, changes, gains, prediction)
    gains = [min(gain, most_ms) for gain in gains]
    guess, (low, high) = gains[0], range_ms(gains, prediction.recorded_ms)
    if saving.between is None:
        high = guess
    width = (high - low) / guess if guess > 0 else np.inf
    sure = width <= NARROW and saving.edit in WELL_KNOWN
    confidence: Confidence = "high" if sure else "medium" if width <= WIDE else "low"
    reason = saving.because
    if prediction.measured.metric("disturbed") is True:
        confidence = "low"
        reason += "; other programs kept the machine busy, so it may be larger or smaller"
    return Saving(guess, low, min(high, most_ms), most_ms, confidence, reason)


def _most_ms(
    finding: Finding, changes: Sequence[Change | None], gains_ms: Sequence[float], prediction: Prediction
) -> float:
    """What no fix can gain more than: what is at stake with its side effects, and where only the host's work
    changes, what the GPU leaves of the step.

    Without a wait the host runs ahead, which gains more than the wait itself: as much as the replay says. All
    of a wait for the loader may go, whatever the model of its workers expects.
    """
    edit, floor_ms = finding.rule.saving.edit, prediction.limit_ms
    bound_ms = finding.ms_per_step if edit == "overlap" else at_most_ms(finding, prediction.measured)
    most_ms = prediction.recorded_ms if bound_ms is None else SIDE_EFFECTS * bound_ms
    if edit == "unblock":
        most_ms = max(most_ms, *gains_ms)
    if floor_ms is not None and not any(
        len(edit.events) for change in changes if change for edit in change.edits
    ):
        most_ms = min(most_ms, max(0.0, prediction.recorded_ms - floor_ms))
    return most_ms


def range_ms(gains_ms: Sequence[float], step_ms: float) -> tuple[float, float]:
    """What a fix gains at least and at most, from what it gains as its outcomes differ; ms of a step."""
    return spread_ms(min(gains_ms), -SPREAD[0], step_ms), spread_ms(max(gains_ms), SPREAD[1], step_ms)


def spread_ms(gain_ms: float, part: float, step_ms: float) -> float:
    """A gain that turns out that part smaller or larger, at most by a quarter of what is left of
    the step: that is what is uncertain.
    """
    most = SPREAD_OF_REST * max(step_ms - gain_ms, 0.0)
    return max(0.0, gain_ms + float(np.clip(part * gain_ms, -most, most)))


def change_of(finding: Finding, prediction: Prediction, outcome: Outcome = "guess") -> Change | None:
    """The finding's fix as it turns out; None where the rule names no step time or nothing fires."""
    rule, measured = finding.rule, prediction.measured
    view = measured.timeline
    saving = rule.saving
    if (
        view is None
        or finding.state != "fires"
        or saving.scope not in IN_MS
        or finding.ms_per_step is None
        or saving.edit == "none"
    ):
        return None
    if saving.scope == "average":
        return Change(average_ms=finding.ms_per_step * (1 - left_of(saving, measured, outcome)))
    if saving.edit == "overlap":
        workers = prediction.enough_workers()
        return Change(workers=workers) if workers else None
    selector = SELECTORS.get(rule.selector)
    on_timeline = selector is not None and selector.table != "calls"
    if selector is not None and on_timeline and view.has_device:
        events = prediction.events_of(selector)
        return Change(tuple(EDITS[saving.edit](events, _left_of_events(rule, events, prediction, outcome))))
    less_ms = finding.ms_per_step * (1 - left_of(saving, measured, outcome))
    if selector is None and view.has_device and finding.row in BUSY_ROWS:
        return Change((busy_work(less_ms, finding.row, prediction),))
    within = (
        measured.attributed(selector)
        if selector is not None and on_timeline
        else view.ledger.rows.get(finding.row, view.span)
    )
    return Change((host_work(less_ms, within, prediction),))


def _left_of_events(
    rule: Rule, events: Events, prediction: Prediction, outcome: Outcome
) -> np.ndarray | float:
    """The same for each GPU event: by the GPU's roofline where the fix changes the number
    format and the event's work is known.
    """
    saving, left = rule.saving, left_of(rule.saving, prediction.measured, outcome)
    if not saving.formats:
        return left
    best, worst = prediction.left_by_roofline(rule.selector, events.device, saving.formats)
    known = np.isfinite(best)
    return np.where(known, {"guess": (best + worst) / 2, "best": best, "worst": worst}[outcome], left)


def _gain_ms(prediction: Prediction, change: Change | None) -> float:
    return max(0.0, prediction.recorded_ms - prediction.step_ms([change])) if change else 0.0


def busy_work(ms: float, row: str, prediction: Prediction) -> Edit:
    """So much less work of the GPU, taken in proportion from all events of a busy row of the ledger."""
    view, whole_ms = prediction.measured.timeline, prediction.measured.row_ms(row)
    assert view is not None
    return Edit(events=events_in(row, view), event_ratio=1 - min(1.0, ms / whole_ms) if whole_ms > 0 else 1.0)


def events_in(row: str, view: Selection) -> Rows:
    """The GPU events of a busy row of the ledger."""
    communication, kernel = (
        view.device["communication"].to_numpy(),
        (view.device["kind"] == "kernel").to_numpy(),
    )
    return np.flatnonzero(
        {
            "compute": kernel & ~communication,
            "exposed_communication": communication,
            "exposed_copies": ~kernel,
        }[row]
    )


def host_work(ms: float, within: Intervals, prediction: Prediction) -> Edit:
    """So much less work of the training thread, taken in proportion from all it does inside the intervals."""
    whole_ms = prediction.host_ms(within)
    view = prediction.measured.timeline
    assert view is not None
    return Edit(
        host=within,
        lane=view.trace.training_thread,
        host_ratio=1 - min(1.0, ms / whole_ms) if whole_ms > 0 else 1.0,
    )
