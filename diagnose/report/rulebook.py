"""All rules as one Markdown page: rules/README.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby

from diagnose.document import text
from diagnose.document.text import code, prose
from diagnose.judge.rules import Instead, Rule, filled, lineage
from diagnose.judge.terms import FRAMEWORK_WORDS, SAFETY_WORDS, STATUS_WORDS
from diagnose.measure.ledger import TITLES
from diagnose.measure.measured import Metric
from diagnose.report.blocks import before_after, section, unpadded_table

WHOLE_STEP_TITLE = "Any part of the step"
_SCOPES = {
    "step": "step time",
    "average": "step time on average: some steps only",
    "component": "something other than step time, or time that only another run shows",
    "hypothetical": "nothing on this machine, step time on a GPU",
    "information": "nothing: nothing is wrong",
}


def rulebook(rules: Mapping[str, Rule], metrics: Mapping[str, Metric]) -> str:
    """The page: an index, then every rule under the part of the step it explains."""
    by_part = sorted(rules.values(), key=lambda rule: (_part(rule, rules), rule.id))
    parts = [(title, list(group)) for title, group in groupby(by_part, key=lambda rule: _part(rule, rules))]
    return (
        "\n\n".join(
            [
                "# Rules",
                f"What `diagnose` looks for: {len(rules)} rules, each one TOML file with its cases beside "
                "it. Written by `make docs` from these files; CONTRIBUTING.md shows how to add one.",
                "A *proven* rule found real slow scripts, stayed quiet on their healthy twins, and its "
                "measured saving was inside the predicted range. A *preview* rule is not yet proven. A rule "
                "fires only if all its conditions hold. It is quiet if one of them is known to fail. "
                "Otherwise it abstains and names what has to be recorded.",
                *(section(title, _index(group)) for title, group in parts),
                *(
                    f"# {title}\n\n" + "\n\n".join(_page(rule, metrics) for rule in group)
                    for title, group in parts
                ),
            ]
        )
        + "\n"
    )


def _part(rule: Rule, rules: Mapping[str, Rule]) -> str:
    """The title of the ledger's row that the rule explains in the end."""
    row = (rule, *lineage(rule, rules))[-1].refines
    return TITLES[row][0] if row in TITLES else WHOLE_STEP_TITLE


def _index(rules: Iterable[Rule]) -> str:
    return unpadded_table(
        ("Rule", "Cause", "Fix", "Status"),
        [
            (
                f"[`{rule.id}`](#{rule.id})",
                prose(rule.cause),
                prose(rule.fix.title),
                STATUS_WORDS[rule.status],
            )
            for rule in rules
        ],
    )


def _page(rule: Rule, metrics: Mapping[str, Metric]) -> str:
    blocks = [
        f"## {rule.id}",
        f"**{prose(rule.symptom)}** {prose(rule.why)}",
        _conditions(rule, metrics),
        f"**Fix.** {prose(rule.fix.title)}. {prose(rule.fix.unmeasured)}",
        before_after(rule.fix.before, filled(rule.fix.after, lambda name: None)),
        _labelled("Caution", rule.fix.caution),
        *(_instead(one, metrics) for one in rule.instead),
        _labelled("When it is fine", rule.false_positives),
        _labelled("On recordings of", _frameworks(rule)),
        f"**Gains** {_SCOPES[rule.saving.scope]}. **Safety:** {SAFETY_WORDS[rule.fix.safety]}. **Refines** "
        f"{code(rule.refines)}.",
        _tried(rule),
        f"**Source.** {', '.join(f'<{reference}>' for reference in rule.references)}"
        if rule.references
        else "",
    ]
    return "\n\n".join(filter(None, blocks))


def _instead(one: Instead, metrics: Mapping[str, Metric]) -> str:
    """What is advised in place of the fix, and where."""
    asked = text.condition(one.when.op, one.when.value, metrics[one.when.metric].unit)
    where = f"Where {code(one.when.metric)} is {prose(asked)}"
    return f"**{where}.** {prose(one.advice.title)}. {prose(one.advice.unmeasured)}"


def _frameworks(rule: Rule) -> str:
    """Empty where it is torch alone, as for most."""
    names = [FRAMEWORK_WORDS[one] for one in rule.frameworks]
    return "" if names == ["torch"] else f"{' and '.join(filter(None, [', '.join(names[:-1]), names[-1]]))}."


def _tried(rule: Rule) -> str:
    """How `verify` makes the fix; empty where only a person can."""
    if not rule.fix.intervention:
        return ""
    given = ", ".join(f"{name}={value}" for name, value in rule.fix.arguments.items())
    return f"**`verify` makes it** by {code(f'{rule.fix.intervention}({given})')}."


def _conditions(rule: Rule, metrics: Mapping[str, Metric]) -> str:
    rows = [
        (
            f"{code(one.metric)}: {prose(metrics[one.metric].meaning)}",
            prose(text.condition(one.op, one.value, metrics[one.metric].unit)),
            prose(one.because),
        )
        for one in rule.when
    ]
    return unpadded_table(("Evidence", "The rule asks for", "Because"), rows)


def _labelled(label: str, sentence: str) -> str:
    return f"**{label}.** {prose(sentence)}" if sentence else ""
