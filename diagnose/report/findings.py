"""The findings' part of the Markdown report."""

from __future__ import annotations

from collections.abc import Sequence

from diagnose.document import savings, text
from diagnose.document.model import CallSite, Culprit, Document, Evidence, Finding
from diagnose.document.queries import (
    alternatives,
    counted,
    in_group,
    in_state,
    is_complete,
    lacking,
    planned,
    time_column,
    ways_instead,
    whole_word,
)
from diagnose.document.text import code, prose
from diagnose.fixes.all import FIXES
from diagnose.report import sentences
from diagnose.report.blocks import before_after, fenced, folded, table

MOST_BEFORE, MOST_AFTER, MOST_CHANGED = 2, 4, 6  # lines of code in a block
ALTERNATIVES = "Alternatives"
NOISE = "Within the noise"


# ---- in short: what one must read to act


def blocks(document: Document, room: int | None) -> list[str]:
    """For each finding of the plan the least that one must read to act on it.

    ``room``: lines that all may take together, with an empty one before each. Where they do not fit, the
    last ones go without code or are empty. None: no limit.
    """
    shown: list[str] = []
    for number, finding in enumerate(planned(document), 1):
        left = None if room is None else room - sum(map(_lines, shown))
        shown.append(_fitting(_block(finding, number, document), change(finding, document), left))
    return shown


def _fitting(told: str, code_block: str, room: int | None) -> str:
    """As much of a block as there is room for."""
    longest_first = (f"{told}\n\n{code_block}".rstrip(), told)
    return next((block for block in longest_first if room is None or _lines(block) <= room), "")


def _lines(block: str) -> int:
    """Lines of a block, and the empty one before it."""
    return block.count("\n") + 2 if block else 0


def _block(finding: Finding, number: int, document: Document) -> str:
    others = (
        f"Or instead: {prose(sentences.alternative(alternative, document))}."
        for alternative in ways_instead(finding, document)
    )
    told = [prose(finding.symptom), cost(finding, document), prose(finding.fix.how), *others]
    return "\n\n".join([_heading(finding, f"{number}. "), " ".join(filter(None, told))])


def change(finding: Finding, document: Document) -> str:
    """The user's own line and what becomes of it: of the patch where it has the fix, else the rule's example
    of other code below it. Empty where neither is known, and where no line changes.
    """
    fix, site = finding.fix, _line_to_change(finding)
    if _is_of_start(finding):
        return ""
    if patched := document.patch.lines.get(finding.rule) if document.patch else None:
        return fenced("diff", _first(patched, MOST_CHANGED))
    if site is None and not fix.before:
        return ""
    if site is None:
        now = f"# now, for example\n{_first(fix.before.splitlines(), MOST_BEFORE)}"
        with_fix = "# with the fix"
    else:
        now = f"# {text.clean(text.place(site))}, now\n{text.clean(site.source)}"
        with_fix = "# an example of the fix, in other code"
    after = f"\n{with_fix}\n{_first(fix.after.splitlines(), MOST_AFTER)}" if fix.after else ""
    return fenced("python", now + after)


def _is_of_start(finding: Finding) -> bool:
    """Whether the fix is how the script is started, by environment variables: no line of it changes."""
    fix = FIXES.get(finding.fix.intervention or "")
    return fix is not None and fix.environment is not None


def _first(lines: Sequence[str], most: int) -> str:
    shown = lines if len(lines) <= most else [*lines[: most - 1], "# …"]
    return "\n".join(shown)


def _line_to_change(finding: Finding) -> Culprit | CallSite | None:
    """The call whose arguments change, else the line to blame; None where the text of neither is known."""
    sites: list[Culprit | CallSite] = [*finding.fix.call_sites, *finding.culprits]
    return next((site for site in sites if site.source), None)


# ---- in full, folded


def behind(document: Document, shown: Sequence[str], *, collapsible: bool) -> str:
    """A fold for each finding of the plan with all that its block (``shown``) does not say."""
    folds = []
    for number, (finding, block) in enumerate(zip(planned(document), shown, strict=True), 1):
        parts = {
            "what to do": "" if block else _block(finding, number, document),
            "evidence": evidence(finding),
            "lines to blame": culprits(finding, document),
            "why": advice(finding, document, with_how=False),
            "other rules": _also(finding, document),
        }
        filled = {name: part for name, part in parts.items() if part}
        title, holds = f"{number}. {finding.fix.title}", ", ".join(filled)
        folds.append(folded(title, *filled.values(), holds=holds, collapsible=collapsible))
    return "\n\n".join(folds)


def _also(finding: Finding, document: Document) -> str:
    """Other rules that found the same time."""
    titles = [
        f"{prose(other.fix.title)} ({prose(savings.saving(other, document))})"
        for other in consequences(finding, document)
    ]
    told = f"**Other rules found the same time.** {'; '.join(titles)}. This fix is nearer to the cause."
    return told if titles else ""


def consequences(finding: Finding, document: Document) -> list[Finding]:
    """Findings about the same time that this one explains better."""
    return [other for other in in_state(document, "fires") if other.because_of == finding.rule]


def bounding(document: Document, *, collapsible: bool) -> str:
    """What is not a fault and yet bounds the step."""
    return folded(
        f"What bounds the {whole_word(document).lower()}",
        *(whole(finding, document) for finding in in_group(document, "information")),
        holds="no fault, and yet the limit",
        collapsible=collapsible,
    )


def hypothetical(document: Document, *, collapsible: bool) -> str:
    found = in_group(document, "hypothetical")
    return folded(
        "Would matter on a GPU",
        sentences.ON_A_GPU if found else "",
        *(whole(finding, document) for finding in found),
        holds="findings that cost next to nothing here",
        collapsible=collapsible,
    )


def other_ways(document: Document, *, collapsible: bool) -> str:
    """Fixes that gain what a row of the plan gains, and nothing more once that one is made."""
    rows, parts = [], []
    for finding, number in replacing(document):
        instead_of = str(number) if number else "the plan"
        rows.append(
            (instead_of, prose(finding.fix.title), where(finding), prose(savings.saving(finding, document)))
        )
        parts.append(whole(finding, document, lead=f"Instead of {instead_of}: "))
    headers = ("Instead of", "Fix", "Where", savings.saves_title(document))
    return folded(
        ALTERNATIVES,
        table(headers, rows),
        *parts,
        holds="other fixes for time that the plan saves",
        collapsible=collapsible,
    )


def replacing(document: Document) -> list[tuple[Finding, int | None]]:
    """Each with the number of the plan's row; None where it gains no more than the whole plan."""
    numbered = [
        (alternative, number)
        for number, finding in enumerate(planned(document), 1)
        for alternative in alternatives(finding, document)
    ]
    return [*numbered, *((finding, None) for finding in aside(document) if _is_spared(finding, document))]


def _is_spared(finding: Finding, document: Document) -> bool:
    """Whether a minor finding would gain more than noise, were it not for the plan."""
    predicted, noise_ms = finding.saving.predicted_ms, document.steps.noise_ms
    return (
        predicted is not None
        and noise_ms is not None
        and predicted.best_guess >= noise_ms
        and not finding.because_of
        and finding.saving.verdict is None
        and bool(document.plan)
    )


def too_small(document: Document, *, collapsible: bool) -> str:
    """What fires and gains too little to tell."""
    rows = [
        (
            prose(finding.fix.title),
            where(finding),
            prose(savings.saving(finding, document)),
            prose(savings.why_minor(finding, document)),
        )
        for finding in small(document)
    ]
    headers = ("Fix", "Where", savings.saves_title(document), "Why not")
    holds = "findings too small to act on"
    return folded(NOISE, table(headers, rows), holds=holds, collapsible=collapsible)


def small(document: Document) -> list[Finding]:
    """What fires and gains too little to tell from noise."""
    return [finding for finding in aside(document) if not _is_spared(finding, document)]


def aside(document: Document) -> list[Finding]:
    """What is not worth anyone's time, less what a planned finding already names as its consequence."""
    in_plan = {finding.rule for finding in planned(document)}
    return [finding for finding in in_group(document, "minor") if finding.because_of not in in_plan]


def not_judged(document: Document, *, collapsible: bool) -> str:
    """Rules that lacked something, grouped by what they lacked, and rules that failed.

    Long lists of names break tables, so a list.
    """
    lacked = (
        []
        if not is_complete(document)
        else [
            f"- {prose(reason)}{f' (needs {code(option)})' if option else ''}: {', '.join(map(code, rules))}"
            for (reason, option), rules in lacking(document).items()
        ]
    )
    failed = [(code(finding.rule), code(finding.error or "", 300)) for finding in in_state(document, "error")]
    return folded(
        "Not judged",
        "\n".join(lacked),
        table(("Rule that failed (please report it)", "Error"), failed),
        holds="rules that lacked something, and what would record it",
        collapsible=collapsible,
    )


def where(finding: Finding) -> str:
    """The lines of its fix as inline code; a dash if none is known."""
    return prose(sentences.where(finding)) or text.UNKNOWN


def whole(finding: Finding, document: Document, lead: str = "") -> str:
    """One finding from its heading, which begins with `lead`, to its reference."""
    parts = [
        _heading(finding, lead),
        " ".join(filter(None, [prose(finding.symptom), cost(finding, document)])),
        evidence(finding),
        culprits(finding, document),
        advice(finding, document),
    ]
    return "\n\n".join(part for part in parts if part)


def _heading(finding: Finding, lead: str) -> str:
    at = sentences.where(finding)
    return f"### {lead}{prose(finding.fix.title)}{f' – {prose(at)}' if at else ''}"


def cost(finding: Finding, document: Document) -> str:
    """What the finding's events take, and what is to be gained; empty where neither is known."""
    saves = prose(savings.in_full(finding, document))
    more = savings.more_than_itself(finding) if saves else ""
    return " ".join(filter(None, [savings.takes(finding, document), f"**{saves}**" if saves else "", more]))


def evidence(finding: Finding) -> str:
    """The conditions that fired, with what was measured."""
    return table(
        ("Evidence", "Measured", "The rule asks for", "Because"),
        map(_evidence, finding.evidence),
        right=["Measured"],
    )


def _evidence(one: Evidence) -> tuple[str, str, str, str]:
    meaning = one.meaning
    named = f"{code(one.metric)}: {prose(meaning)}" if meaning else code(one.metric)
    value, asked = (text.quantity(one.value, one.unit), text.condition(one.op, one.threshold, one.unit))
    return (
        named,
        code(value) if isinstance(one.value, str) else prose(value),
        prose(asked),
        prose(one.because),
    )


def culprits(finding: Finding, document: Document) -> str:
    """The lines to blame, costliest first."""
    rows = [
        (
            code(text.place(culprit)),
            _source(culprit),
            code(culprit.function),
            text.count(culprit.calls_per_step),
            text.ms(culprit.ms_per_step),
        )
        for culprit in finding.culprits
    ]
    numbers = [counted("Calls", document), time_column(document)]
    return table(("Line", "Source", "Function", *numbers), rows, right=numbers)


def _source(culprit: Culprit) -> str:
    """The line's text, and the library's function that does it on the line's behalf."""
    return " through ".join(filter(None, [code(culprit.source), code(culprit.via)]))


def advice(finding: Finding, document: Document, *, with_how: bool = True) -> str:
    """Why, how, caution, how sure: each on its own line."""
    fix = finding.fix
    example = before_after(fix.before, fix.after)
    parts = {
        "Why": prose(finding.why),
        "How": "\n\n".join(filter(None, [prose(fix.how), example])) if with_how else "",
        "Example": f"Without the fix and with it:\n\n{example}" if example and not with_how else "",
        "The call to change": _call_sites(finding),
        "Caution": prose(fix.caution),
        "When it is fine": prose(finding.false_positives),
        "Severity": finding.severity if finding.group == "plan" else "",
        "How sure": prose(savings.how_sure(finding, document)) if finding.group == "plan" else "",
    }
    lines = [f"**{title}.** {sentence}" for title, sentence in parts.items() if sentence]
    links = ", ".join(map(_link, finding.references))
    about = f"`python -m diagnose rules {finding.rule}` explains the rule" if finding.rule else ""
    lines.append(f"**More.** {', '.join(filter(None, [links, about]))}.")
    return "\n\n".join(lines)


def call_sites(finding: Finding) -> list[CallSite]:
    """Where the call stands whose arguments change, unless the finding blames that line anyway."""
    blamed = {(culprit.file, culprit.line) for culprit in finding.culprits}
    return [
        call_site for call_site in finding.fix.call_sites if (call_site.file, call_site.line) not in blamed
    ]


def _call_sites(finding: Finding) -> str:
    return ", ".join(
        f"{code(text.place(call_site))} {code(call_site.source)}" for call_site in call_sites(finding)
    )


def _link(reference: str) -> str:
    is_url = reference.startswith(("https://", "http://")) and not set(reference) & set("<> \n|")
    return f"<{reference}>" if is_url else prose(reference)
