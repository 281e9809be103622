"""The result document's JSON Schema, and what contradicts itself in a document."""

from __future__ import annotations

import inspect
import math
from typing import Any

import msgspec

from diagnose.document.model import Document, Finding, Saving


def json_schema() -> dict[str, Any]:
    """What docs/report.schema.json holds."""
    about = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The result document of diagnose",
    }
    return about | _described(msgspec.json.schema(Document))


def _described(schema: Any) -> Any:
    """The schema without the source's indentation in its descriptions, which msgspec keeps before 0.23."""
    if isinstance(schema, list):
        return [_described(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: inspect.cleandoc(part) if key == "description" and isinstance(part, str) else _described(part)
        for key, part in schema.items()
    }


def problems(document: Document) -> list[str]:
    """What is wrong with the document beyond its types, one sentence each; empty if nothing is."""
    return [
        *(problem for finding in document.findings for problem in _finding_problems(finding)),
        *_contradictions(document),
        *_not_finite(msgspec.to_builtins(document), "document"),
    ]


def _finding_problems(finding: Finding) -> list[str]:
    where, fires = f"finding {finding.rule}", finding.state == "fires"
    found = _saving_problems(f"{where}: saving", finding.saving)
    if fires and not finding.fix.how:
        found.append(f"{where}: fires without saying what to do")
    if fires and (finding.group is None or finding.severity is None):
        found.append(f"{where}: fires without a group and a severity")
    if finding.state == "abstains" and not finding.abstains_for:
        found.append(f"{where}: abstains without a reason")
    if finding.state == "error" and not finding.error:
        found.append(f"{where}: failed without saying how")
    return found


def _saving_problems(where: str, saving: Saving) -> list[str]:
    predicted = saving.predicted_ms
    if predicted is None:
        return []
    found = (
        []
        if 0 <= predicted.low <= predicted.high
        else [f"{where}: the range {predicted.low}–{predicted.high} is none"]
    )
    if saving.confidence is None or not saving.reason:
        found.append(f"{where}: predicted without a confidence and a reason")
    return found


def _contradictions(document: Document) -> list[str]:
    found = []
    if document.prediction_missing is not None and any(
        finding.saving.predicted_ms for finding in document.findings
    ):
        found.append("savings are predicted although nothing can be")
    in_plan = {finding.rule for finding in document.findings if finding.group == "plan"}
    if {row.rule for row in document.plan} != in_plan:
        found.append("the plan is not the group 'plan'")
    whole = sum(row.share for row in document.ledger)
    if document.ledger and not math.isclose(whole, 1, abs_tol=1e-6):
        found.append(f"the ledger's shares add up to {whole}")
    return found


def _not_finite(value: Any, where: str) -> list[str]:
    if isinstance(value, float) and not math.isfinite(value):
        return [f"{where} is {value}"]
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [problem for name, one in inner for problem in _not_finite(one, f"{where}.{name}")]
