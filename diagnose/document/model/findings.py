"""What is wrong, and what to do about it."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Struct

from diagnose.document.model.described import Scalar, Verdict, described
from diagnose.judge.terms import Confidence, Group, Op, Safety, Scope, Severity, State, Status


class Evidence(Struct, kw_only=True):
    """A condition of a rule, with what was measured."""

    metric: Annotated[str, described("`python -m diagnose metrics` lists them.")]
    meaning: Annotated[str, described("What the metric says.")] = ""
    value: Annotated[Scalar, described("As measured; null where it is not a finite number.")]
    op: Annotated[Op, described("How value and threshold are compared.")]
    threshold: Annotated[Scalar, described("What the rule asks for.")]
    unit: Annotated[str, described("Of value and threshold: ms, share, count, bytes, … or empty.")]
    because: Annotated[str, described("Why the threshold is what it is.")]


class Culprit(Struct, kw_only=True):
    """A line of the user's own code that a finding blames."""

    file: Annotated[str, described("Relative to run.cwd where it lies below it.")]
    line: Annotated[int, described("From 1.")]
    function: Annotated[str, described("The function the line stands in.")]
    source: Annotated[str, described("The line's text; empty where the file is not at hand.")]
    calls_per_step: Annotated[
        float | None, described("How often it does what the finding is about; null where not known.")
    ]
    ms_per_step: Annotated[float, described("What that takes, ms.")]
    via: Annotated[
        str,
        described(
            "The library's function that does it on the line's behalf; empty if the line does it itself."
        ),
    ] = ""


class CallSite(Struct, kw_only=True):
    """A call whose arguments the fix changes."""

    file: Annotated[str, described("As in culprits.")]
    line: Annotated[int, described("From 1.")]
    source: Annotated[str, described("The line's text.")]


class Fix(Struct, kw_only=True):
    """What to do. Of rules that do not fire only the title and the safety are filled in."""

    title: Annotated[str, described("In a few words.")]
    how: Annotated[str, described("What to type, with this run's numbers.")] = ""
    caution: Annotated[str, described("What to look out for; may be empty.")] = ""
    safety: Annotated[
        Safety,
        described(
            "exact: results stay as they are; numerics: their last digits change; manual: depends on how it "
            "is done."
        ),
    ] = "manual"
    intervention: Annotated[
        str, described("The name under which `verify` makes the fix; empty if only people can.")
    ] = ""
    arguments: Annotated[
        dict[str, Any] | None, described("The intervention's arguments; null where one of them is unknown.")
    ] = None
    before: Annotated[str, described("Code as it is; may be empty.")] = ""
    after: Annotated[str, described("The same with the fix; may be empty.")] = ""
    call_sites: Annotated[list[CallSite], described("The calls to change, as far as they were found.")] = []


class Predicted(Struct, kw_only=True):
    """What the recorded steps take less when they are replayed with the fix made, ms per step."""

    best_guess: Annotated[float, described("ms")]
    low: Annotated[float, described("If the fix turns out badly, ms.")]
    high: Annotated[float, described("If it turns out well, ms.")]


class Measured(Struct, kw_only=True):
    """What `verify` measured the fix to save, ms per step; negative where the step became slower."""

    best_guess: Annotated[float, described("ms")]
    low: Annotated[float, described("Lower end of the interval, ms.")]
    high: Annotated[float, described("Upper end of the interval, ms.")]
    of_ms: Annotated[float, described("The step without the fix in those runs, ms.")]


class Saving(Struct, kw_only=True):
    """What the fix gains alone."""

    at_most_ms: Annotated[
        float | None,
        described("What it cannot gain more than, side effects included; null where the cost is not known."),
    ]
    scope: Annotated[
        Scope,
        described(
            "step: of every step; average: some steps only, ms of the average one; component: of a part that "
            "is no step time; hypothetical: on a GPU; information: nothing to fix."
        ),
    ]
    predicted_ms: Annotated[Predicted | None, described("Null where it cannot be predicted.")]
    confidence: Annotated[Confidence | None, described("How narrow the predicted range is.")]
    reason: Annotated[str | None, described("Why the range is as wide as it is.")]
    measured_ms: Annotated[
        Measured | None, described("Null where it was not measured, or no change was found.")
    ]
    verdict: Annotated[Verdict | None, described("What came of `verify`; null if the fix was not tried.")]
    of_ms: Annotated[
        float | None,
        described("The step that it comes off, the average one if the scope is average; null if not known."),
    ] = None


class Lacking(Struct, kw_only=True):
    """What a rule, or a metric, could not do without."""

    reason: Annotated[str, described("What was missing.")]
    option: Annotated[str, described("What would record it; may be empty.")]


class Finding(Struct, kw_only=True):
    """One rule, whether or not it fires."""

    rule: Annotated[str, described("`python -m diagnose rules ID` explains it.")]
    status: Annotated[Status, described("stable: proven on real recordings; preview: not yet.")]
    state: Annotated[
        State,
        described(
            "fires: all its conditions hold; quiet: one does not; abstains: something was not recorded; "
            "error: it failed."
        ),
    ]
    group: Annotated[
        Group | None,
        described(
            "Of a rule that fires. plan: worth acting on; alternative: another way to gain what a fix of the "
            "plan gains; minor: below the noise floor, or explained better by another; hypothetical: costs "
            "nothing here, would on a GPU; information: nothing to fix."
        ),
    ]
    severity: Annotated[
        Severity | None,
        described("Of a rule that fires, by the share at stake: high from 20 %, medium from 8 %, low below."),
    ]
    refines: Annotated[
        str | None, described("The row of the ledger, or the more general rule, that it explains.")
    ]
    cause: Annotated[str, described("What is wrong, in a few words.")] = ""
    symptom: Annotated[str, described("What is wrong, in one sentence.")]
    why: Annotated[str, described("Why that is slow.")]
    false_positives: Annotated[str, described("When it is fine all the same; may be empty.")] = ""
    references: Annotated[list[str], described("Where this is known from, mostly URLs.")]
    ms_per_step: Annotated[
        float | None, described("What the finding's events take; null where that is not known in ms.")
    ]
    share: Annotated[
        float | None,
        described(
            "Of the step at stake, 0–1: of the predicted saving, else of at_most_ms, else of ms_per_step."
        ),
    ]
    evidence: Annotated[list[Evidence], described("The conditions that were judged.")]
    culprits: Annotated[list[Culprit], described("The lines to blame, costliest first.")]
    fix: Annotated[Fix, described("What to do.")]
    saving: Annotated[Saving, described("What that gains.")]
    because_of: Annotated[str | None, described("The rule that explains the same time better.")]
    alternative_to: Annotated[
        str | None, described("Of an alternative: the rule in the plan that gains the same time.")
    ] = None
    abstains_for: Annotated[Lacking | None, described("Why a rule abstains, else null.")]
    error: Annotated[str | None, described("How a rule failed, else null.")]


class PlanRow(Struct, kw_only=True):
    """A finding worth acting on. Rows are in the order in which to act."""

    rule: Annotated[str, described("The finding's.")]
    fix: Annotated[str, described("The fix's title.")]
    where: Annotated[str | None, described("file:line to look at; null if no line is known.")]
    severity: Annotated[Severity, described("The finding's.")]
    at_most_ms: Annotated[float | None, described("The finding's.")]
    share: Annotated[float | None, described("The finding's.")]
    alone_ms: Annotated[
        float | None, described("What the fix saves alone, best guess; null where nothing is predicted.")
    ]
    cumulative_ms: Annotated[float | None, described("What it saves with all rows above: not their sum.")]
    step_ms_after: Annotated[
        float | None, described("The step then; the average one if a row's scope is average.")
    ]


class Patch(Struct, kw_only=True):
    """What fixes.diff beside the report holds."""

    patched: Annotated[list[str], described("Rules whose fix is in it.")]
    unpatched: Annotated[dict[str, str], described("Why the fix of a rule is not in it.")]
    lines: Annotated[
        dict[str, list[str]],
        described("What the fix of each of these rules changes: lines with - or + before them."),
    ] = {}
