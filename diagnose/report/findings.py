"""The findings' part of the Markdown report."""

from __future__ import annotations

from diagnose.document import savings, text
from diagnose.document.model import CallSite, Culprit, Document, Evidence, Finding
from diagnose.document.queries import alternatives, in_group, in_state, lacking, place, planned, saw_no_step
from diagnose.document.text import code, prose
from diagnose.report import sentences
from diagnose.report.blocks import before_after, folded, section, table


def found(document: Document) -> str:
    """Everything in the plan, each with its evidence and what follows from it."""
    return section(
        "Findings",
        *(
            _with_consequences(finding, number, document)
            for number, finding in enumerate(planned(document), 1)
        ),
    )


def _with_consequences(finding: Finding, number: int, document: Document) -> str:
    titles = [
        f"{prose(consequence.fix.title)} ({prose(savings.saving(consequence, document))})"
        for consequence in consequences(finding, document)
    ]
    also = (
        f"**The same time is also seen as.** {'; '.join(titles)}. The fix above is nearer to the cause."
        if titles
        else ""
    )
    others = [
        whole(alternative, document, lead=f"Instead of {number}: ")
        for alternative in alternatives(finding, document)
    ]
    return "\n\n".join(filter(None, [whole(finding, document, lead=f"{number}. "), also, *others]))


def consequences(finding: Finding, document: Document) -> list[Finding]:
    """Findings about the same time that this one explains better."""
    return [one for one in in_state(document, "fires") if one.because_of == finding.rule]


def bounding(document: Document) -> str:
    """What is not a fault and yet bounds the step."""
    return section(
        "What bounds the step", *(whole(one, document) for one in in_group(document, "information"))
    )


def hypothetical(document: Document) -> str:
    found = in_group(document, "hypothetical")
    intro = sentences.ON_A_GPU if found else ""
    return section("Would matter on a GPU", intro, *(whole(one, document) for one in found))


def minor(document: Document, *, collapsible: bool) -> str:
    rows = [
        (
            prose(one.fix.title),
            where(one),
            prose(savings.saving(one, document)),
            prose(savings.why_minor(one, document)),
        )
        for one in aside(document)
    ]
    headers = ("Fix", "Where", f"{savings.saves(document)} per step", "Why not")
    return folded("Seen, not worth your time", table(headers, rows), collapsible=collapsible)


def aside(document: Document) -> list[Finding]:
    """What is not worth anyone's time, less what a planned finding already names as its consequence."""
    in_plan = {one.rule for one in planned(document)}
    return [one for one in in_group(document, "minor") if one.because_of not in in_plan]


def not_judged(document: Document, *, collapsible: bool) -> str:
    """Rules that lacked something, grouped by what they lacked, and rules that failed.

    Long lists of names break tables, so a list.
    """
    if saw_no_step(document):
        return ""
    lacked = [
        f"- {prose(reason)}{f' (needs {code(option)})' if option else ''}: {', '.join(map(code, rules))}"
        for (reason, option), rules in lacking(document).items()
    ]
    failed = [(code(one.rule), code(one.error or "", 300)) for one in in_state(document, "error")]
    return folded(
        "Not judged",
        "\n".join(lacked),
        table(("Rule that failed (please report it)", "Error"), failed),
        collapsible=collapsible,
    )


def where(finding: Finding) -> str:
    """`train.py:41` as inline code; a dash if no line is known."""
    line = place(finding)
    return code(text.place(line)) if line else text.UNKNOWN


def whole(finding: Finding, document: Document, lead: str = "") -> str:
    """One finding from its heading, which begins with `lead`, to its reference."""
    at = f" – {where(finding)}" if place(finding) else ""
    blocks = [
        f"### {lead}{prose(finding.fix.title)}{at}",
        " ".join(filter(None, [prose(finding.symptom), cost(finding, document)])),
        evidence(finding),
        culprits(finding),
        advice(finding, document),
    ]
    return "\n\n".join(block for block in blocks if block)


def cost(finding: Finding, document: Document) -> str:
    """What the finding's events take, and what is to be gained; empty where neither is known."""
    saves = prose(savings.in_full(finding, document))
    return " ".join(filter(None, [savings.takes(finding), f"**{saves}**" if saves else ""]))


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


def culprits(finding: Finding) -> str:
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
    return table(
        ("Line", "Source", "Function", "Calls per step", "Per step"),
        rows,
        right=["Calls per step", "Per step"],
    )


def _source(culprit: Culprit) -> str:
    """The line's text, and the library's function that does it on the line's behalf."""
    return " through ".join(filter(None, [code(culprit.source), code(culprit.via)]))


def advice(finding: Finding, document: Document) -> str:
    """Why, how, caution, how sure: each on its own line."""
    fix = finding.fix
    parts = {
        "Why": prose(finding.why),
        "How": "\n\n".join(filter(None, [prose(fix.how), before_after(fix.before, fix.after)])),
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
