"""Rules and metrics as text for the terminal: `python -m diagnose rules` and `metrics`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from diagnose.document import text
from diagnose.judge.rules import filled

if TYPE_CHECKING:
    from diagnose.judge.rules import Rule
    from diagnose.measure.measured import Metric

WIDTH = 100


def rule_list(rules: Iterable[Rule]) -> str:
    """A line a rule."""
    lines = [f"{rule.id:<32} {rule.status:<10} {rule.fix.title}" for rule in rules]
    return "\n".join([*lines, "", "python -m diagnose rules ID explains one."])


def rule_page(rule: Rule, metrics: Mapping[str, Metric]) -> str:
    """Everything about one rule."""
    conditions = [
        f"{one.metric}: {text.condition(one.op, one.value, metrics[one.metric].unit)}\n"
        f"    ({metrics[one.metric].meaning}; {one.because})"
        for one in rule.when
    ]  # fmt: skip
    parts = {
        "Symptom": rule.symptom,
        "Why": rule.why,
        "Fires when all of these hold": "\n".join(conditions),
        "Fix": f"{rule.fix.title}\n{rule.fix.how}",
        "Before": rule.fix.before,
        "After": filled(rule.fix.after, lambda name: None),
        "Caution": rule.fix.caution,
        "When it is fine": rule.false_positives,
        "References": "\n".join(rule.references),
    }
    paragraphs = [f"{title}\n{_indented(body)}" for title, body in parts.items() if body]
    return "\n\n".join(
        [f"{rule.id} ({rule.status}; part of: {rule.refines}; the fix is: {rule.fix.safety})", *paragraphs]
    )


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
