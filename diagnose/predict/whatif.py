"""What a user asks about a recording, as changes of its steps: "what if this took no
time, half as long, did not wait?".
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from diagnose.errors import DiagnoseError, UsageError
from diagnose.judge.findings import Finding, finding
from diagnose.judge.left import Outcome
from diagnose.judge.rules import Rule, lineage, load_rules
from diagnose.measure.ledger import BUSY_ROWS, TITLES
from diagnose.measure.measured import Measured
from diagnose.measure.missing import Missing
from diagnose.measure.selection import SELECTORS, Selection, Selector
from diagnose.measure.view import NO_ROWS, Rows, category_matches
from diagnose.predict.edits import EDITS, Events, blocked_time, retimed
from diagnose.predict.new_ledger import ledger_after
from diagnose.predict.on_average import longer_ms
from diagnose.predict.prediction import Change, Prediction
from diagnose.predict.ranks import Ranks
from diagnose.predict.replay import Edit
from diagnose.predict.saving import OUTCOMES, change_of, events_in, host_work, saving_of, seldom_of
from diagnose.predict.widths import Width, width_of
from diagnose.trace.distinct import distinct
from diagnose.trace.intervals import intersect

Kind = Literal["remove", "shrink", "unblock", "workers", "scale_kernels"]
NAMES = "name a row of the report's ledger, a rule (`python -m diagnose rules` lists them) or a selector"
MOST_NAMES = 3  # suggested for a wrong one
LISTED_KERNELS, LISTED_LETTERS = 5, 60


@dataclass(frozen=True)
class Question:
    """One thing to change. ``name``: a selector, a rule or a row of the ledger; of ``scale_kernels`` a
    regular expression for names of kernels; of ``workers`` their number. ``ratio``: what is left of its time.
    """

    kind: Kind
    name: str
    ratio: float = 0.0


@dataclass(frozen=True)
class Asked:
    """A question with the time it is about, ms of the plain step as it is, the GPU's for
    kernels; None where a rule tells no time.

    ``is_fix``: the fix of a rule is meant, not all that it looks at.
    """

    question: Question
    now_ms: float | None
    is_fix: bool


@dataclass(frozen=True)
class Answer:
    """ms of the plain step. ``now_ms`` is of a steady one, more than ``recorded_ms``
    where the host ran ahead of the GPU; and with ``seldom_ms``, what is asked about and only some steps have,
    of the average one. The rows are of a usual step.

    ``range_ms``: of the new step, best first; None where nothing asked about is uncertain by
    itself. ``error``: of the replay of the recording as it is, 0-1. ``replayed_steps`` of
    ``step_count`` complete ones were replayed.
    """

    asked: tuple[Asked, ...]
    recorded_ms: float
    now_ms: float
    then_ms: float
    range_ms: tuple[float, float] | None
    error: float
    replayed_steps: int
    step_count: int
    rows_now_ms: dict[str, float]
    rows_then_ms: dict[str, float]
    seldom_ms: float = 0.0


def checked(questions: Iterable[Question]) -> list[Question]:
    """The questions; raises UsageError with the nearest valid names for one that nothing can have."""
    rules = _rules()
    names = list(dict.fromkeys([*TITLES, *SELECTORS, *rules]))
    questions = list(questions)
    for question in questions:
        if question.kind == "scale_kernels":
            _compiled(question.name)
        elif question.kind != "workers" and question.name not in names:
            near = difflib.get_close_matches(question.name, names, n=MOST_NAMES)
            do = f"did you mean {_either(near)}?" if near else NAMES
            raise UsageError(f"{_option(question)}: nothing is called {question.name}", do=do)
    return questions


def what_if(questions: Sequence[Question], prediction: Prediction) -> Answer:
    """The step with all of it changed.

    Raises UsageError for what this recording does not have, DiagnoseError where nothing can be told.
    """
    _refuse_unpredictable(prediction)
    view = prediction.measured.timeline
    assert view is not None and prediction.error is not None
    changes = {outcome: changes_of(questions, prediction, outcome) for outcome in OUTCOMES}
    seldom_ms = _seldom_ms(questions, prediction.measured)
    now_ms = prediction.recorded_ms + seldom_ms
    steps = {outcome: prediction.step_ms(made) + seldom_ms for outcome, made in changes.items()}
    range_ms = _range_ms(now_ms, steps, questions, prediction)
    rows_now_ms = ledger_after(prediction)
    of_each_step = [replace(change, seldom=None) for change in changes["guess"]]
    return Answer(
        asked=tuple(
            Asked(question, _now_ms(question, prediction.measured, rows_now_ms), _is_fix(question))
            for question in questions
        ),
        recorded_ms=prediction.measured.number("step_ms"),
        now_ms=now_ms,
        then_ms=max(steps["guess"], range_ms[0]) if range_ms else steps["guess"],
        range_ms=range_ms,
        error=prediction.error,
        replayed_steps=prediction.replay.graph.step_count,
        step_count=view.step_count,
        rows_now_ms=rows_now_ms,
        rows_then_ms=ledger_after(prediction, of_each_step),
        seldom_ms=seldom_ms,
    )


def _seldom_ms(questions: Sequence[Question], measured: Measured) -> float:
    """By which the average step is longer than a usual one, for what is asked about."""
    rules = {question.name for question in questions if _is_fix(question)}
    return longer_ms(seldom_of(_judged(_rules()[name], measured), measured) for name in sorted(rules))


@dataclass(frozen=True)
class Together:
    """The steady step of all ranks of a job, ms as recorded, and what each rank's
    replay says by itself, now and then.
    """

    now_ms: float
    then_ms: float
    alone_ms: tuple[tuple[float, float], ...]


def what_if_together(questions: Sequence[Question], predictions: Sequence[Prediction]) -> Together:
    """The same changes made on every rank; where one has nothing of a name it stays as it is.

    Raises UsageError if no rank has it, DiagnoseError where nothing can be told
    or the recordings are not of one job.
    """
    for prediction in predictions:
        _refuse_unpredictable(prediction)
        _refuse_smaller_groups(prediction, len(predictions))
    changes = [
        [_change_if_there(question, prediction) for prediction in predictions] for question in questions
    ]
    for question, by_rank in zip(questions, changes, strict=True):
        if not any(by_rank):
            changes_of([question], predictions[0])  # says why
    made = [[change for change in by_rank if change] for by_rank in zip(*changes, strict=True)]
    ranks = Ranks(
        [prediction.replay for prediction in predictions],
        [collectives_in(prediction) for prediction in predictions],
    )
    edits = [prediction.steady(changes)[0] for prediction, changes in zip(predictions, made, strict=True)]
    alone = tuple(
        (prediction.recorded_ms, prediction.step_ms(changes))
        for prediction, changes in zip(predictions, made, strict=True)
    )
    loaded_ns = max(
        prediction.loaded_ns(changes) for prediction, changes in zip(predictions, made, strict=True)
    )
    then_ns = max(ranks.step_ns(edits), loaded_ns)
    return Together(ranks.step_ns([()] * len(predictions)) / 1e6, then_ns / 1e6, alone)


def collectives_in(prediction: Prediction) -> Rows:
    """The device rows of the collectives launched in the replayed steps, in that order."""
    view = prediction.measured.timeline
    assert view is not None
    replayed = distinct(prediction.replay.graph.edges.event)
    rows = np.intersect1d(np.flatnonzero(view.device["communication"]), replayed)
    return rows[np.argsort(view.device["launch"].to_numpy()[rows], kind="stable")]


def _refuse_smaller_groups(prediction: Prediction, rank_count: int) -> None:
    """Raises DiagnoseError if the trace tells of collectives in which not all ranks meet."""
    assert prediction.measured.timeline is not None
    told = prediction.measured.timeline.trace.collectives
    smaller = told["size"].between(2, rank_count - 1).to_numpy()
    if smaller.any():
        groups = ", ".join(
            sorted(
                {
                    one.strip()
                    for one in told["group"][smaller].astype(str) + " " + told["ranks"][smaller].astype(str)
                }
            )
        )
        raise DiagnoseError(
            "the ranks cannot be replayed together",
            saw=f"process groups that not all of them are in: {groups}",
        )


def _change_if_there(question: Question, prediction: Prediction) -> Change | None:
    try:
        return _change(question, prediction, "guess")
    except DiagnoseError:
        return None


def changes_of(
    questions: Iterable[Question], prediction: Prediction, outcome: Outcome = "guess"
) -> list[Change]:
    """The changes that the questions ask about; the fix of a rule as it turns out."""
    return [_change(question, prediction, outcome) for question in questions]


def _refuse_unpredictable(prediction: Prediction) -> None:
    missing = prediction.missing
    if missing is not None:
        raise DiagnoseError(
            f"nothing can be predicted from this recording: {missing.reason}", do=_record_with(missing)
        )


@functools.cache
def _rules() -> dict[str, Rule]:
    return load_rules()


def _change(question: Question, prediction: Prediction, outcome: Outcome) -> Change:
    if question.kind == "workers":
        return _workers(int(question.name), prediction)
    if question.kind == "scale_kernels":
        return Change(
            tuple(retimed(Events({}, _kernels(question, prediction.measured), NO_ROWS), question.ratio))
        )
    if _is_fix(question):
        return _of_fix(question, _rules()[question.name], prediction, outcome)
    return _of_part(question, _part(question), prediction)


def _workers(count: int, prediction: Prediction) -> Change:
    if not prediction.enough_workers():
        raise DiagnoseError(
            "--workers: no step waits for a loader here, or nothing tells how long a batch takes to load",
            do="record the script",
        )
    return Change(workers=count)


def _of_fix(question: Question, rule: Rule, prediction: Prediction, outcome: Outcome) -> Change:
    judged = _judged(rule, prediction.measured)
    if judged.state != "fires":
        raise DiagnoseError(
            f"{_option(question)}: the rule finds nothing in this recording", do=_other_names(rule)
        )
    change = change_of(judged, prediction, outcome)
    if change is None:
        raise DiagnoseError(
            f"{_option(question)}: what its fix gains is not known in step time", do=_other_names(rule)
        )
    return change


def _of_part(question: Question, name: str, prediction: Prediction) -> Change:
    """A row of the ledger, or what a selector selects.

    Where a GPU is recorded a selector knows more of the same name: which calls wait.
    """
    measured = prediction.measured
    view = measured.timeline
    assert view is not None
    if question.kind == "unblock" and not view.has_device:
        raise DiagnoseError(f"{_option(question)}: no GPU in this recording, so no call waits for one")
    is_row = name in view.ledger.rows and not (view.has_device and name in SELECTORS)
    if name not in SELECTORS and not is_row:
        raise _no_part(question, name, measured)
    ratio = 1.0 if question.kind == "unblock" else question.ratio
    now_ms = _part_ms(name, measured, _option(question))
    if not is_row and SELECTORS[name].table == "calls":
        return Change(tuple(_less_in_rows(SELECTORS[name], measured, ratio, prediction)))
    if view.has_device:
        events = _events_of_row(name, view, prediction) if is_row else prediction.events_of(SELECTORS[name])
        kind = "release" if name == "queued" else question.kind
        return Change(tuple(EDITS[kind](events, ratio)))
    within = view.ledger.rows[name] if is_row else measured.attributed(SELECTORS[name])
    return Change((host_work(now_ms * (1 - ratio), within, prediction),))


def _no_part(question: Question, name: str, measured: Measured) -> DiagnoseError:
    option = _option(question)
    if name in TITLES:
        rows = [row for row in measured.ledger.rows if measured.row_ms(row) > 0] if measured.ledger else []
        return UsageError(
            f"{option}: the ledger of this recording has no row {name}", do=f"its rows: {', '.join(rows)}"
        )
    return DiagnoseError(
        f"{option}: what it looks at is no event of a recording, so only its fix can be made",
        do=f"--remove {question.name}",
    )


def _events_of_row(row: str, view: Selection, prediction: Prediction) -> Events:
    """Busy time is that of GPU events, of other streams' too; idle time what any thread does then."""
    if row not in BUSY_ROWS:
        lanes = np.unique(prediction.replay.graph.edges.lane)
        return Events({int(lane): view.ledger.rows[row] for lane in lanes if lane >= 0}, NO_ROWS, NO_ROWS)
    rows = events_in(row, view)
    launches = view.device["launch"].to_numpy()[rows]
    calls = distinct(launches[launches >= 0])
    return Events({}, rows, calls, blocked_time(view, calls))


def _less_in_rows(selector: Selector, measured: Measured, ratio: float, prediction: Prediction) -> list[Edit]:
    """Calls of the script's own lines are not on the timeline: the work of each row of the
    ledger shrinks by what they take of it.
    """
    view, detail = measured.timeline, measured.detail
    assert view is not None and detail is not None
    less_ms = {
        row: measured.detail_ms(intersect(measured.attributed(selector), there)) * (1 - ratio)
        for row, there in detail.ledger.rows.items()
    }
    return [
        host_work(ms, view.ledger.rows[row], prediction)
        for row, ms in less_ms.items()
        if ms > 0 and row in view.ledger.rows
    ]


def _kernels(question: Question, measured: Measured) -> Rows:
    view = measured.timeline
    assert view is not None
    if not view.has_device:
        raise DiagnoseError(f"{_option(question)}: no GPU in this recording, so there are no kernels")
    kernel = (view.device["kind"] == "kernel").to_numpy()
    found = np.flatnonzero(kernel & category_matches(view.device["name"].array, f"(?i:{question.name})"))
    if not len(found):
        longest = (
            view.device[kernel]
            .groupby("name", observed=True)["dur_ns"]
            .sum()
            .sort_values(ascending=False)
            .index
        )
        raise UsageError(
            f"{_option(question)}: no kernel has such a name",
            saw="those that take longest: "
            f"{'; '.join(name[:LISTED_LETTERS] for name in longest[:LISTED_KERNELS])}",
        )
    return found


# ---- what it is about


def _now_ms(question: Question, measured: Measured, rows_ms: Mapping[str, float]) -> float | None:
    """ms of the plain step that the question is about."""
    if question.kind == "workers":
        return rows_ms["input_wait"]
    if question.kind == "scale_kernels":
        view = measured.timeline
        assert view is not None
        return view.ms_per_step(view.device_intervals(_kernels(question, measured)))
    if _is_fix(question):
        return _judged(_rules()[question.name], measured).ms_per_step
    part = _part(question)
    return rows_ms[part] if part in rows_ms else _part_ms(part, measured, _option(question))


def _part(question: Question) -> str:
    """The row or selector that is meant: a rule's name stands for its selector."""
    rule = _rules().get(question.name)
    return rule.selector if rule else question.name


def _part_ms(name: str, measured: Measured, option: str) -> float:
    """ms of the plain step of a row of the ledger or of a selector.

    Raises DiagnoseError where the recording does not tell.
    """
    if measured.ledger is not None and name in measured.ledger.rows:
        return measured.row_ms(name)
    value = measured.metric(f"{name}_ms")
    if isinstance(value, Missing):
        raise DiagnoseError(f"{option}: {value.reason}", do=_record_with(value))
    return float(value)


def _judged(rule: Rule, measured: Measured) -> Finding:
    return finding(rule, measured, lineage(rule, _rules()))


def _is_fix(question: Question) -> bool:
    """Whether the fix of a rule is asked for: only of these it is known how well they may turn out."""
    return question.kind == "remove" and question.name in _rules()


def _range_ms(
    now_ms: float, steps_ms: dict[Outcome, float], questions: Sequence[Question], prediction: Prediction
) -> tuple[float, float] | None:
    """Of the new step, best first: that of a finding's saving (`diagnose.predict.saving`), of several
    questions as wide as the widest; None where no fix of a rule is asked for.
    """
    fixes = [
        _judged(_rules()[question.name], prediction.measured) for question in questions if _is_fix(question)
    ]
    if not fixes:
        return None
    if len(questions) == 1 and (saving := saving_of(fixes[0], prediction)) is not None:
        return now_ms - saving.high_ms, now_ms - saving.low_ms
    savings = [fix.rule.saving for fix in fixes]
    outcomes = OUTCOMES if any(saving.formats for saving in savings) else OUTCOMES[:1]
    gains_ms = tuple(max(0.0, now_ms - steps_ms[outcome]) for outcome in outcomes)
    each = [width_of(saving) for saving in savings]
    widest = Width(min(width.low for width in each), max(width.high for width in each))
    worst_ms, best_ms = widest.range_ms(gains_ms, now_ms)
    return max(0.0, now_ms - best_ms), now_ms - worst_ms


# ---- words


def _option(question: Question) -> str:
    return f"--{question.kind.replace('_', '-')} {question.name}"


def _other_names(rule: Rule) -> str:
    return (
        f"name what it looks at: --remove {rule.selector}"
        if rule.selector in SELECTORS
        else "name a row of the ledger"
    )


def _record_with(missing: Missing) -> str:
    return f"record again with {missing.option}" if missing.option else ""


def _either(names: Sequence[str]) -> str:
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(f"(?i:{pattern})")
    except re.error as error:
        raise UsageError(f"--scale-kernels: {pattern!r} is no regular expression", saw=str(error)) from error
