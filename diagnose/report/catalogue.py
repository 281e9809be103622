"""Rules and metrics as text for the terminal: `python -m diagnose rules` and `metrics`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from diagnose.document import text
from diagnose.judge.rules import filled
from diagnose.judge.terms import SAFETY_WORDS, STATUS_WORDS

if TYPE_CHECKING:
    from diagnose.judge.rules import Condition, Rule
    from diagnose.measure.measured import Metric

WIDTH = 100


def rule_list(rules: Iterable[Rule]) -> str:
    """A line a rule."""
    lines = [f"{rule.id:<32} {STATUS_WORDS[rule.status]:<10} {rule.fix.title}" for rule in rules]
    return "\n".join([*lines, "", "python -m diagnose rules ID explains one."])


def rule_page(rule: Rule, metrics: Mapping[str, Metric]) -> str:
    """Everything about one rule."""
    parts = {
        "Symptom": rule.symptom,
        "Why": rule.why,
        "Fires when all of these hold": "\n".join(_condition(one, metrics) for one in rule.when),
        "Fix": f"{rule.fix.title}\n{rule.fix.unmeasured}",
        "Before": rule.fix.before,
        "After": filled(rule.fix.after, lambda name: None),
        "Caution": rule.fix.caution,
        **{
            f"Fix where {_asked(one.when, metrics)}": f"{one.advice.title}\n{one.advice.unmeasured}"
            for one in rule.instead
        },
        "When it is fine": rule.false_positives,
        "References": "\n".join(rule.references),
    }
    paragraphs = [f"{title}\n{_indented(body)}" for title, body in parts.items() if body]
    kind = f"{STATUS_WORDS[rule.status]} rule; refines {rule.refines}; {SAFETY_WORDS[rule.fix.safety]}"
    return "\n\n".join([f"{rule.id}: {rule.cause}\n({kind})", *paragraphs])


def _condition(one: Condition, metrics: Mapping[str, Metric]) -> str:
    metric = metrics[one.metric]
    return f"{_asked(one, metrics)}\n    {metric.meaning}\n    because {one.because}"


def _asked(one: Condition, metrics: Mapping[str, Metric]) -> str:
    return f"{one.metric}: {text.condition(one.op, one.value, metrics[one.metric].unit)}"


def metric_list(metrics: Iterable[Metric]) -> str:
    """A line a metric: name, unit, meaning."""
    return "\n".join(
        f"{one.name:<34} {one.unit:<7} {one.meaning}"
        for one in sorted(metrics, key=lambda metric: metric.name)
    )


def _indented(body: str) -> str:
    lines = [
        textwrap.wrap(line, WIDTH - 2, subsequent_indent=line[: len(line) - len(line.lstrip())])
        for line in body.splitlines()
    ]
    return textwrap.indent("\n".join(part for wrapped in lines for part in wrapped), "  ")
