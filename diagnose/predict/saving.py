"""What the fix of a finding gains, predicted by replay: alone, with its range, and how well that is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from diagnose.judge.findings import Finding
from diagnose.judge.left import Outcome, left_of
from diagnose.judge.rules import IN_MS, Rule
from diagnose.judge.terms import Confidence
from diagnose.measure.ledger import BUSY_ROWS
from diagnose.measure.lines import lines_inside
from diagnose.measure.measured import METRICS, Measured
from diagnose.measure.missing import Missing
from diagnose.measure.selection import SELECTORS, Selection
from diagnose.measure.view import Intervals, Rows
from diagnose.predict.bound import at_most_ms
from diagnose.predict.edits import EDITS, Events
from diagnose.predict.on_average import Seldom
from diagnose.predict.prediction import Change, Prediction
from diagnose.predict.replay import Edit, Line
from diagnose.predict.widths import Width, is_guess, times_odds, width_of

OUTCOMES: tuple[Outcome, ...] = ("guess", "best", "worst")
LOADERS = ("overlap", "inline")  # edits of where the loader does its work
# upper end of the range ÷ lower one, up to which confidence is high, medium
NARROW, WIDE = 2.5, 4.0
FAIR_PART = 0.1


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
    # how a rewrite turns out is in the width of its kind; of another number format the GPU's roofline tells
    outcomes = OUTCOMES if saving.formats else OUTCOMES[:1]
    changes = [change_of(finding, prediction, outcome) for outcome in outcomes]
    if changes[0] is None:
        return None
    gains = [_gain_ms(prediction, change) for change in changes]
    width, step_ms = width_of(saving), stepped_ms(finding, prediction)
    edits = [edit for change in changes if change for edit in change.edits]
    most_ms = _most_ms(finding, edits, gains, prediction, width)
    guess = min(gains[0], most_ms)
    alone_ms = min(most_ms, _most_alone_ms(finding, edits, gains, prediction))
    low, high = (min(end, alone_ms) for end in width.range_ms(tuple(gains), step_ms))
    if saving.between is None:
        high = guess
    confidence, reason = confidence_of(low, high, width, guessed=is_guess(saving)), saving.because
    if prediction.measured.metric("disturbed") is True:
        confidence = "low"
        reason += "; other programs kept the machine busy, so it may be larger or smaller"
    return Saving(guess, min(low, guess), max(high, guess), most_ms, confidence, reason)


def stepped_ms(finding: Finding, prediction: Prediction) -> float:
    """The step that the saving comes off: what only some steps have is of the average one."""
    return prediction.recorded_ms + more_on_average_ms(finding, prediction.measured)


def seldom_of(finding: Finding, measured: Measured) -> Seldom:
    """What the finding is about of what only some steps have; nothing is saved of it yet."""
    rule = finding.rule
    return Seldom(rule.id, more_on_average_ms(finding, measured), 0.0, rule.saving.within)


def more_on_average_ms(finding: Finding, measured: Measured) -> float:
    """By which the average step is longer than the typical one, for what only some steps have: the finding's
    own time, and of what was not counted (the model's part of collecting data) that, too.
    """
    if finding.rule.saving.scope != "average":
        return 0.0
    whole = f"{finding.rule.selector}_whole_ms"
    whole_ms = measured.metric(whole) if whole in METRICS else 0.0
    own_ms = finding.ms_per_step or 0.0
    return own_ms if isinstance(whole_ms, Missing) else max(own_ms, float(whole_ms))


def confidence_of(low_ms: float, high_ms: float, width: Width, *, guessed: bool = False) -> Confidence:
    """By how narrow the range is; never high where too few predictions of its kind were measured, or what the
    fix leaves is a guess: a range may be narrow because no more can be gained.
    """
    if high_ms > WIDE * low_ms:
        return "low"
    return "high" if high_ms <= NARROW * low_ms and width.known and not guessed else "medium"


def _most_ms(
    finding: Finding, edits: Sequence[Edit], gains_ms: Sequence[float], prediction: Prediction, width: Width
) -> float:
    """What no fix can gain more than, whatever else is mended: what is at stake, with as much on top as fixes
    were measured to gain; and what the GPU's events that stay as they are leave of the step.

    Without a wait the host runs ahead, which gains more than the wait itself: as much as the replay says.
    Other workers gain the wait for the loader at most, another number format what the kernels take.
    """
    kind = finding.rule.saving.edit
    bound_ms, step_ms = at_most_ms(finding, prediction.measured), stepped_ms(finding, prediction)
    more = 1.0 if kind in LOADERS or finding.rule.saving.formats else max(1.0, width.high)
    most_ms = step_ms if bound_ms is None else times_odds(bound_ms, step_ms, more)
    if kind == "unblock":
        most_ms = max(most_ms, *gains_ms)
    floor_ms = prediction.least_ms(edits, host=True) if edits else None
    return most_ms if floor_ms is None else min(most_ms, max(0.0, prediction.recorded_ms - floor_ms))


def _most_alone_ms(
    finding: Finding, edits: Sequence[Edit], gains_ms: Sequence[float], prediction: Prediction
) -> float:
    """What a fix of the GPU's work alone cannot gain more than: as much as without that work, and another
    number format as much as its best outcome; nothing is told of other fixes.
    """
    if finding.rule.saving.formats:
        return max(gains_ms)
    if not edits or any(len(edit.host) or len(edit.unblocked) for edit in edits):
        return math.inf
    least_ms = prediction.least_ms(edits, host=False)
    return math.inf if least_ms is None else max(0.0, prediction.recorded_ms - least_ms)


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
        saved_ms = finding.ms_per_step * (1 - left_of(saving, measured, outcome))
        return Change(seldom=replace(seldom_of(finding, measured), saved_ms=saved_ms))
    if saving.edit == "overlap":
        workers = prediction.enough_workers()
        return Change(workers=workers, outcome=outcome) if workers else None
    if saving.edit == "inline":
        return Change(workers=0, outcome=outcome)
    edits = _edits(finding, prediction, outcome)
    lines = _lines_of(finding)
    inner_lines = lines_inside(measured, lines)
    is_setting = saving.edit == "quicken"
    return Change(
        tuple(
            replace(edit, lines=lines, inner_lines=inner_lines, of_what_is_left=is_setting) for edit in edits
        )
    )


def _edits(finding: Finding, prediction: Prediction, outcome: Outcome) -> list[Edit]:
    """Of the recorded work that the finding names; where it names none, of the row of the ledger."""
    rule, measured = finding.rule, prediction.measured
    view, saving, selector = measured.timeline, rule.saving, SELECTORS.get(rule.selector)
    assert view is not None and finding.ms_per_step is not None
    on_timeline = selector is not None and selector.table != "calls"
    if selector is not None and on_timeline and view.has_device:
        events = prediction.events_of(selector)
        return EDITS[saving.edit](events, _left_of_events(rule, events, prediction, outcome))
    less_ms = finding.ms_per_step * (1 - left_of(saving, measured, outcome))
    if selector is None and view.has_device and finding.row in BUSY_ROWS:
        return [busy_work(less_ms, finding.row, prediction)]
    if selector is not None and on_timeline:
        return [host_work(less_ms, measured.attributed(selector), prediction)]
    within = view.ledger.rows.get(finding.row, view.span)
    return [replace(host_work(less_ms, within, prediction), in_proportion=True)]


def _lines_of(finding: Finding) -> frozenset[Line]:
    """The lines that take a fair part of what the finding takes."""
    least_ms = FAIR_PART * (finding.ms_per_step or 0.0)
    return frozenset(
        (culprit.file, culprit.line)
        for culprit in finding.culprits
        if culprit.line >= 0 and (culprit.ms_per_step or 0.0) >= least_ms
    )


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
