"""The brief: what somebody needs to act on, a coding agent above all, in at most 2,000 tokens.

What is left out to stay below that stands in report.json.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta, Struct

from diagnose.document import savings, text
from diagnose.document.model import Document, Finding
from diagnose.document.queries import (
    automatic,
    is_complete,
    lacking,
    ledger_ms,
    lines_to_see,
    place,
    plan_row,
    planned,
    report_folder,
    run_command,
    ways_instead,
)
from diagnose.document.stored import to_json
from diagnose.document.text import code, prose
from diagnose.report import account, next_steps, sentences, throughput, watched
from diagnose.trace.notes import UNSEEN_WORK

JSON_FILE, MARKDOWN_FILE = "brief.json", "brief.md"
MOST_TOKENS = 2_000
# JSON of sentences and code: 3.3 to 4 with the tokenisers in use (tests/report/test_brief.py)
CHARACTERS_PER_TOKEN = 3
MOST_CHARACTERS = MOST_TOKENS * CHARACTERS_PER_TOKEN
LONGEST_COMMAND = 500  # characters: a longer one is left out, for half a command is none
LEAST_SHARE = 0.01  # of the step: smaller parts are not told


def _is(description: str) -> Meta:
    return Meta(description=description)


class BriefFix(Struct, kw_only=True, omit_defaults=True):
    """A fix worth making."""

    rule: Annotated[
        str, _is("`python -m diagnose rules RULE` explains it; `verify --only RULE` measures it.")
    ]
    do: Annotated[str, _is("In a few words.")]
    where: Annotated[list[str], _is("`file:line`: the one to change, then those that take the time.")] = []
    wrong: Annotated[str, _is("What is wrong.")]
    worth: Annotated[str, _is("What it gains, in words: measured, predicted, or at most.")]
    predicted_ms: Annotated[list[float], _is("Low, best guess, high: of a step, by replay.")] = []
    measured_ms: Annotated[list[float], _is("Low, best guess, high: of a step, measured by `verify`.")] = []
    verdict: Annotated[str, _is("What came of `verify`; missing if it was not tried.")] = ""
    sure: Annotated[str, _is("How sure the prediction and the rule are.")]
    results: Annotated[
        Literal["exact", "numerics", "manual"],
        _is("exact: they stay as they are; numerics: last digits change; manual: depends on how it is done."),
    ]
    how: Annotated[str, _is("What to type, with this run's numbers.")] = ""
    change: Annotated[list[str], _is("The lines that fixes.diff takes away and adds for it.")] = []
    instead: Annotated[list[str], _is("Other ways to gain the same.")] = []


class BriefPart(Struct, kw_only=True, omit_defaults=True):
    """A part of the step, of 1 % and more."""

    part: str
    ms: float
    share: Annotated[float, _is("0–1")]
    mostly: Annotated[str, _is("Who spends it.")] = ""


class Brief(Struct, kw_only=True, omit_defaults=True):
    """One diagnosis in brief; all of it is in report.json."""

    headline: str
    doubt: Annotated[str, _is("Why the numbers are doubtful; missing if they are not.")] = ""
    target: str
    device: str
    step: Annotated[str, _is("The typical step, samples a second.")] = ""
    fixes: Annotated[list[BriefFix], _is("Best first. Savings do not add up: measure after each.")] = []
    more_fixes: Annotated[int, _is("How many more are in the report.")] = 0
    verify_can_try: Annotated[
        list[str],
        _is("Rules whose fix `verify` makes and measures by itself, best first, alternatives among them."),
    ] = []
    look: Annotated[list[str], _is("Where to look, where no rule knows a fix.")] = []
    step_goes_to: Annotated[list[BriefPart], _is("Largest first.")] = []
    not_known: Annotated[list[str], _is("What could not be judged, and what would record it.")] = []
    whole_run: Annotated[list[str], _is("What became of the steps, where the run was watched.")] = []
    next: Annotated[list[str], _is("Commands to type, in the folder that the script ran in.")] = []
    report: Annotated[str, _is("The folder with all of it.")] = ""


@dataclass(frozen=True)
class _Room:
    """How much of everything there may be."""

    fixes: int
    told: int  # fixes that are told how to make
    characters: int  # of a text
    changed: int  # lines of a change
    parts: int


_ROOMS = (
    _Room(fixes=10, told=10, characters=1_000, changed=30, parts=10),
    _Room(fixes=8, told=5, characters=700, changed=20, parts=8),
    _Room(fixes=6, told=3, characters=500, changed=12, parts=6),
    _Room(fixes=5, told=2, characters=350, changed=8, parts=5),
    _Room(fixes=3, told=1, characters=250, changed=6, parts=4),
    _Room(fixes=2, told=1, characters=160, changed=3, parts=3),
    _Room(fixes=1, told=0, characters=100, changed=0, parts=2),
)


def brief(document: Document) -> Brief:
    """With as much of everything as fits `MOST_CHARACTERS`."""
    made = (_brief(document, room) for room in _ROOMS)
    return next((one for one in made if len(to_json(one)) <= MOST_CHARACTERS), _brief(document, _ROOMS[-1]))


def _brief(document: Document, room: _Room) -> Brief:
    plan = planned(document)
    rows = sorted((row for row in document.ledger if row.share >= LEAST_SHARE), key=lambda row: -row.share)

    def cut(words: str) -> str:
        return text.clean(words, room.characters)

    step = [f"{text.ms(ledger_ms(document))} a step"] if is_complete(document) else []
    return Brief(
        headline=cut(document.headline),
        doubt=cut(
            sentences.doubt(document)
            or (sentences.ending(document) if sentences.ended_badly(document) else "")
        ),
        target=text.clean(document.run.target, text.LONGEST_NAME),
        device=document.run.device,
        step=cut(", ".join([*step, *throughput.told(document)])),
        fixes=[
            _fix(finding, document, room, told=number < room.told)
            for number, finding in enumerate(plan[: room.fixes])
        ],
        more_fixes=max(0, len(plan) - room.fixes),
        verify_can_try=[finding.rule for finding in automatic(document)[: room.fixes]],
        look=[cut(look) for look in account.looks(document)[: room.parts]],
        step_goes_to=[
            BriefPart(
                part=row.title,
                ms=_short(row.ms_per_step),
                share=round(row.share, 3),
                mostly=cut(account.names_in(row, document)).replace("`", ""),
            )
            for row in rows[: room.parts]
        ],
        not_known=[cut(unknown) for unknown in _not_known(document)[: room.parts]],
        whole_run=[cut(sentence) for sentence in watched.sentences(document)[: room.parts]],
        next=_next(document),
        report=report_folder(document),
    )


def _fix(finding: Finding, document: Document, room: _Room, *, told: bool) -> BriefFix:
    first, predicted, measured = place(finding), finding.saving.predicted_ms, finding.saving.measured_ms
    spots = [*lines_to_see(finding), *(finding.culprits if first else [])]
    where = dict.fromkeys(text.end_of(text.place(spot), text.LONGEST_NAME) for spot in spots)
    change = document.patch.lines.get(finding.rule, []) if document.patch else []
    row = plan_row(finding, document)
    then = savings.then(row, document) if row else ""
    return BriefFix(
        rule=finding.rule,
        do=_plain(finding.fix.title, room),
        where=list(where)[:3],
        wrong=_plain(finding.symptom, room),
        worth=_plain(" · ".join(filter(None, [savings.worth(finding, document), then])), room),
        predicted_ms=[_short(predicted.low), _short(predicted.best_guess), _short(predicted.high)]
        if predicted
        else [],
        measured_ms=[_short(measured.low), _short(measured.best_guess), _short(measured.high)]
        if measured
        else [],
        verdict=finding.saving.verdict or "",
        sure=_plain(savings.sureness(finding, document), room),
        results=finding.fix.safety,
        how=_plain(finding.fix.how, room) if told else "",
        change=[_code(line, room) for line in change[: room.changed]],
        instead=[
            _plain(sentences.alternative(other, document), room) for other in ways_instead(finding, document)
        ]
        if told
        else [],
    )


def _plain(words: str, room: _Room) -> str:
    return text.clean(words, room.characters)


def _code(line: str, room: _Room) -> str:
    """With its indentation."""
    code = line[1:].lstrip(" ")
    return line[: len(line) - len(code)] + text.clean(code, room.characters)


def _short(value: float) -> float:
    """Three digits."""
    return float(f"{value:.3g}")


def _not_known(document: Document) -> list[str]:
    """What most rules lack first; without what nothing would record."""
    missing = [f"savings: {document.prediction_missing}"] if document.prediction_missing else []
    by_rules = sorted(lacking(document).items(), key=lambda item: -len(item[1]))
    missing += [note.text for note in document.notes if note.code == UNSEEN_WORK]
    if not is_complete(document):  # which all of them lack
        return missing
    return missing + [
        f"{len(rules)} {'rule' if len(rules) == 1 else 'rules'}: {reason}; {option} would record it"
        for (reason, option), rules in by_rules
        if option
    ]


def _next(document: Document) -> list[str]:
    commands = [next_steps.patch_command(document)] if document.patch and document.patch.patched else []
    if planned(document):
        commands.append(next_steps.verify_command(document))
    commands.append(run_command(document))
    return [command for command in commands if 0 < len(command) <= LONGEST_COMMAND]


def markdown(document: Document) -> str:
    """The brief as Markdown, for where no JSON is read."""
    told = brief(document)
    lines = [
        f"# {prose(told.target)}",
        f"**{prose(told.headline)}**",
        prose(told.doubt),
        f"{told.step} · {told.device}",
    ]
    for number, fix in enumerate(told.fixes, 1):
        lines += [
            f"## {number}. {prose(fix.do)}" + (f" – {code(fix.where[0])}" if fix.where else ""),
            fix.wrong,
            f"Gain: {fix.worth} ({fix.sure}). Results: {fix.results}.",
            fix.how,
            "\n".join(["```diff", *fix.change, "```"]) if fix.change else "",
            *(f"Or: {other}" for other in fix.instead),
        ]
    lines += [f"{told.more_fixes} more fixes are in the report." if told.more_fixes else ""]
    lines += ["\n".join(f"- {look}" for look in told.look)]
    lines += ["\n".join(["The whole run:", "", *(f"- {one}" for one in told.whole_run)])] * bool(
        told.whole_run
    )
    parts = [
        f"- {part.part}: {part.ms:g} ms, {part.share:.0%}" + (f": {part.mostly}" if part.mostly else "")
        for part in told.step_goes_to
    ]
    lines += ["\n".join(["Where a step's time goes:", "", *parts]) if parts else ""]
    lines += [
        "\n".join(["Not known:", "", *(f"- {one}" for one in told.not_known)]) if told.not_known else ""
    ]
    lines += ["\n".join(["```sh", *told.next, "```"]) if told.next else ""]
    lines += [f"All of it: {told.report}" if told.report else ""]
    return "\n\n".join(filter(None, lines)) + "\n"
