"""What a fix saves, in words: predicted, measured or at most, how sure that is, and
what is left of the step. Plain text.
"""

from __future__ import annotations

from diagnose.document.model import Document, Finding, Measured, PlanRow, Predicted
from diagnose.document.queries import is_whole_trace, ledger_ms, plan_row, planned
from diagnose.document.text import less, ms, rough_share_span, rough_span, share, signed_span

_REFUTED = {
    "no_change": "measured: no change beyond noise",
    "no_such_gain": "measured: it does not gain what was predicted",
    "slower": "measured: it makes the step slower",
}
_UNKNOWN = "not known in ms"
_MORE_THAN_ITSELF = (
    "It may save more than this takes itself: such fixes were measured to shorten other work, too."
)
ROUNDING = 0.05  # what two significant digits hide
NOTHING_MS = 0.001  # what would show as less than that
WIDE = 5  # a range's upper end ÷ its lower one, from which the lower one promises nothing


def saving(finding: Finding, document: Document, per: str = "") -> str:
    """`3.1–4.8 ms, 25–39 %`: measured or predicted; else an upper bound, or the cost where nothing
    can be predicted. ``per``: see `per_step`.
    """
    known = finding.saving
    if known.measured_ms is not None:
        return _measured(known.measured_ms, per)
    if known.predicted_ms is not None:
        return _predicted(known.predicted_ms, finding, document, per)
    if document.prediction_missing:
        return _with_share(finding.ms_per_step, _whole_ms(finding, document), per)
    return (
        f"at most {_with_share(known.at_most_ms, _whole_ms(finding, document), per)}"
        if known.at_most_ms is not None
        else _UNKNOWN
    )


def per_step(document: Document) -> str:
    """What a saving is of, behind its number."""
    return " of the recorded time" if is_whole_trace(document) else " a step"


def _measured(known: Measured, per: str) -> str:
    """The share is of the step as it was in the runs that were measured."""
    low, high, whole_ms = known.low, known.high, known.of_ms
    part = f", {rough_share_span(low / whole_ms, high / whole_ms)}" if low >= 0 else ""
    return f"{signed_span(low, high)}{per}{part}"


def _predicted(known: Predicted, finding: Finding, document: Document, per: str) -> str:
    low, high, guess = known.low, known.high, known.best_guess
    if is_nothing(high):
        return f"0 ms{per} {_until(finding, document)}"
    least = _promised(low, high)
    whole_ms = _whole_ms(finding, document)
    average = " on average" if finding.saving.scope == "average" else ""
    part = f", {rough_share_span(least / whole_ms, high / whole_ms)}" if whole_ms else ""
    uncertain = ", uncertain" if low and not least else ""
    best = f"; best guess {rough_span(guess, guess)}" if finding.saving.confidence == "low" else ""
    return f"{span(low, high)}{per}{average}{part}{uncertain}{best}"


def span(low: float, high: float) -> str:
    """`3.1–4.8 ms`, or `up to 4.8 ms` where the range is too wide to promise its lower end."""
    return rough_span(_promised(low, high), high)


def _promised(low: float, high: float) -> float:
    return 0.0 if high > WIDE * low else low


def _until(finding: Finding, document: Document) -> str:
    """When a fix that gains nothing alone gains something: `until fix 1 is made`, `… fix 2 is made, too`."""
    number = next((at for at, row in enumerate(document.plan, 1) if row.rule == finding.rule), 0)
    if number == 0:
        return "alone"
    if not is_nothing(document.plan[number - 1].cumulative_ms):
        return "until fix 1 is made" if number == 2 else f"until fixes 1–{number - 1} are made"
    return f"until fix {gaining_with(document, number)} is made, too"


def gaining_with(document: Document, number: int) -> int:
    """The first row of the plan from this one on that gains something with all before it; else this one."""
    rows = enumerate(document.plan[number - 1 :], number)
    return next((at for at, row in rows if not is_nothing(row.cumulative_ms)), number)


def is_nothing(value: float | None) -> bool:
    return value is not None and value < NOTHING_MS


def before_ms(finding: Finding, document: Document) -> float | None:
    """The step that a saving comes off: what only some steps have makes the
    average one longer than the typical one.
    """
    usual_ms = ledger_ms(document)
    if finding.saving.scope != "average" or not usual_ms:
        return usual_ms or None
    return finding.saving.of_ms or usual_ms + (finding.ms_per_step or 0.0)


def _whole_ms(finding: Finding, document: Document) -> float | None:
    """The step that a saving is told as a share of: the same for all rows of a plan, the average one where
    some of them are about that.
    """
    of_plan = average_ms(document) if has_average(document) and plan_row(finding, document) else None
    return of_plan or before_ms(finding, document)


def _with_share(value: float | None, whole_ms: float | None, per: str) -> str:
    if value is None:
        return _UNKNOWN
    return f"{ms(value)}{per}, {share(value / whole_ms)}" if whole_ms else f"{ms(value)}{per}"


def saves(document: Document) -> str:
    """What `saving` tells of the findings, as the header of a column."""
    return "Costs" if document.prediction_missing else "Saves"


def saves_title(document: Document) -> str:
    """The same with what it is counted by: `Saves per step`."""
    return f"{saves(document)} {'in all' if is_whole_trace(document) else 'per step'}"


def worth(finding: Finding, document: Document) -> str:
    """`saves 3.1–4.8 ms a step, 25–39 %`, `costs 4.2 ms a step, 34 %`."""
    told = saving(finding, document, per_step(document))
    return f"saving {told}" if told == _UNKNOWN else f"{saves(document).lower()} {told}"


def after_title(document: Document) -> str:
    """The header of the column of `after`."""
    whole = "Recording" if is_whole_trace(document) else "Step"
    return f"{whole} after it" if len(document.plan) == 1 else f"{whole} after fixes 1…n"


def after(row: PlanRow, document: Document) -> str:
    """The step after this fix and all above it, `118 ms`; of the average step where the plan holds something
    that only some steps have, `118 ms on average`. Empty if unknown.
    """
    if row.cumulative_ms is None or row.step_ms_after is None:
        return ""
    left = less(row.step_ms_after, row.cumulative_ms, document.upper_bound_ms or 0.0)
    return f"{left} on average" if has_average(document) else left


def then(row: PlanRow, document: Document) -> str:
    """The same in a sentence: `step then 14 ms`, from the second row on `step after fixes 1–2: 5.9 ms`."""
    left, number = after(row, document), document.plan.index(row) + 1
    if not left:
        return ""
    whole = "recording" if is_whole_trace(document) else "step"
    return f"{whole} then {left}" if number == 1 else f"{whole} after fixes 1–{number}: {left}"


def has_average(document: Document) -> bool:
    """Whether the plan holds something that only some steps have: what is left of the
    step is then that of the average one.
    """
    return any(finding.saving.scope == "average" for finding in planned(document))


def average_ms(document: Document) -> float | None:
    """The average step that the plan starts from, ms; None where nothing is predicted."""
    for row in document.plan:
        if row.cumulative_ms is not None and row.step_ms_after is not None:
            return row.cumulative_ms + row.step_ms_after
    return None


def takes(finding: Finding, document: Document) -> str:
    """What the finding's events take; empty where that is not known."""
    if finding.ms_per_step is None:
        return ""
    return f"This takes about {ms(finding.ms_per_step)}{_each_time(document)}."


def _each_time(document: Document) -> str:
    return " of the recorded time" if is_whole_trace(document) else " per step"


def in_full(finding: Finding, document: Document) -> str:
    """What is to be gained, as a sentence of the finding's section; empty where that is not known."""
    known, row = finding.saving, plan_row(finding, document)
    told = saving(finding, document, per_step(document))
    if known.measured_ms is not None:
        return f"The fix saves {told}, as measured."
    if known.predicted_ms is None:
        bounded = known.at_most_ms is not None and not document.prediction_missing
        return f"The fix saves {told}." if bounded else ""
    left = _left_of_step(row, document) if row else ""
    return f"The fix is predicted to save {told}{left}."


def more_than_itself(finding: Finding) -> str:
    """Why a fix may save more than what it is about takes, as a sentence; empty where it does not."""
    known = finding.saving.predicted_ms
    if finding.saving.measured_ms is not None or known is None or finding.ms_per_step is None:
        return ""
    return _MORE_THAN_ITSELF if known.high > finding.ms_per_step * (1 + ROUNDING) else ""


def _left_of_step(row: PlanRow, document: Document) -> str:
    saved, after = row.cumulative_ms, row.step_ms_after
    if saved is None or after is None or is_nothing(saved):
        return ""
    whole = "the same work" if is_whole_trace(document) else "a step"
    step = "an average step" if has_average(document) else whole
    first = next(row for row in document.plan if row.cumulative_ms is not None)
    lead = "; " if row is first else f"; together with the fixes above {rough_span(saved, saved)}, and "
    return f"{lead}{step} then takes {less(after, saved, document.upper_bound_ms or 0.0)}"


def sureness(finding: Finding, document: Document) -> str:
    """How sure we are, in a few words."""
    rule = "proven rule" if finding.status == "stable" else "preview rule"
    known = finding.saving
    if known.measured_ms is not None:
        return f"measured, {rule}"
    if known.predicted_ms is not None:
        return f"{known.confidence} confidence, {rule}"
    return (
        f"upper bound, {rule}" if known.at_most_ms is not None and not document.prediction_missing else rule
    )


def how_sure(finding: Finding, document: Document) -> str:
    """The same for people who have never seen the words before."""
    if finding.status == "stable":
        rule = (
            "The rule is proven: it found this on real recordings of slow scripts and stayed quiet on their "
            "healthy twins."
        )
    else:
        rule = (
            "The rule is a preview: it is not yet proven on enough real recordings, so check the evidence "
            "above before you act."
        )
    known = finding.saving
    if known.measured_ms is not None:
        return f"{rule} The saving was measured by running the script with the fix."
    if known.predicted_ms is not None:
        replay = (
            "The saving is what plain steps with this work took beyond the others, spread over all steps"
            if finding.saving.scope == "average"
            else "The saving comes from replaying the recorded steps with the fix made"
        )
        return f"{rule} {replay}; confidence is {known.confidence}: {known.reason}."
    if known.at_most_ms is not None and not document.prediction_missing:
        return f"{rule} The saving is an upper bound, for the rest of the step may hide part of it."
    return rule


def why_minor(finding: Finding, document: Document) -> str:
    """Why a finding that fires is not worth anyone's time."""
    if finding.because_of:
        titles = {one.rule: one.fix.title for one in document.findings}
        return f"the same time is explained better by: {titles.get(finding.because_of, finding.because_of)}"
    if finding.saving.verdict in _REFUTED:
        return _REFUTED[finding.saving.verdict]
    noise, predicted = document.steps.noise_ms, finding.saving.predicted_ms
    than = (
        f"the noise of this run ({ms(noise)}{_each_time(document)})"
        if noise is not None
        else "the noise of this run"
    )
    if predicted is not None and noise is not None and predicted.best_guess >= noise:
        return f"after the fixes above it saves less than {than}, or less than a tenth of what it saves alone"
    return f"below {than}"
