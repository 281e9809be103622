"""The shape of the result document, as docs/architecture.md promises it. More keys may be there; these are, and keep their meaning."""

from __future__ import annotations

import math
from typing import Any

from diagnose.report.document import SEVERITIES, Document

_NUMBER = (int, float)
_NUMBER_OR_NONE = (int, float, type(None))
_TEXT_OR_NONE = (str, type(None))
_DICT_OR_NONE = (dict, type(None))

Shape = dict[str, Any]

_DOCUMENT: Shape = {
    "schema": int,
    "tool": dict,
    "run": dict,
    "verdict": str,
    "steps": dict,
    "ledger": list,
    "findings": list,
    "plan": list,
    "self_replay_error": _NUMBER_OR_NONE,
    "prediction_missing": _TEXT_OR_NONE,
    "steady_step_ms": _NUMBER_OR_NONE,
    "upper_bound_ms": _NUMBER_OR_NONE,
    "lines": list,
    "key_averages": dict,
    "metrics": dict,
    "notes": list,
}
_PARTS: dict[str, Shape] = {
    "tool": {"name": str, "version": str},
    "run": {"target": str, "argv": list, "ended": str, "exit_code": (int, type(None)), "device": str, "environment": dict},
    "steps": {
        "clock": str,
        "complete": int,
        "phases": dict,
        "plain_ms": _DICT_OR_NONE,
        "timeline_ms": _DICT_OR_NONE,
        "distortion": _NUMBER_OR_NONE,
        "plain_series_ms": list,
        "timeline_series_ms": list,
    },
    "key_averages": {"rows": list, "note": str},
}
_PLACE: Shape = {"file": str, "line": int, "function": str, "source": str, "calls_per_step": _NUMBER}
_ROWS: dict[str, Shape] = {
    "ledger": {"row": str, "title": str, "meaning": str, "ms_per_step": _NUMBER, "share": _NUMBER},
    "lines": {**_PLACE, "self_ms": _NUMBER, "total_ms": _NUMBER, "share": _NUMBER},
    "plan": {
        "rule": str,
        "fix": str,
        "where": _TEXT_OR_NONE,
        "severity": str,
        "at_most_ms": _NUMBER_OR_NONE,
        "share": _NUMBER_OR_NONE,
        "alone_ms": _NUMBER_OR_NONE,
        "cumulative_ms": _NUMBER_OR_NONE,
        "step_ms_after": _NUMBER_OR_NONE,
    },
    "notes": {},
    "findings": {
        "rule": str,
        "status": str,
        "state": str,
        "severity": _TEXT_OR_NONE,
        "group": _TEXT_OR_NONE,
        "symptom": str,
        "why": str,
        "references": list,
        "ms_per_step": _NUMBER_OR_NONE,
        "share": _NUMBER_OR_NONE,
        "refines": _TEXT_OR_NONE,
        "evidence": list,
        "culprits": list,
        "fix": dict,
        "saving": dict,
        "because_of": _TEXT_OR_NONE,
        "abstains_for": _DICT_OR_NONE,
        "error": _TEXT_OR_NONE,
    },
}
_EVIDENCE: Shape = {"metric": str, "value": object, "op": str, "threshold": object, "unit": str, "because": str}
_FIX: Shape = {"title": str, "how": str, "caution": str, "safety": str, "intervention": str, "call_sites": list}
_SAVING: Shape = {
    "at_most_ms": _NUMBER_OR_NONE,
    "scope": str,
    "predicted_ms": _DICT_OR_NONE,
    "confidence": _TEXT_OR_NONE,
    "reason": _TEXT_OR_NONE,
    "measured_ms": object,
    "verdict": _TEXT_OR_NONE,
}
_PREDICTED: Shape = {"best_guess": _NUMBER, "low": _NUMBER, "high": _NUMBER}
_AVERAGE: Shape = {"name": str, "calls": _NUMBER, "self_cpu_ms": _NUMBER, "cpu_ms": _NUMBER, "self_device_ms": _NUMBER_OR_NONE}

_STATES = ("fires", "quiet", "abstains", "error")
_SCOPES = ("step", "average", "component", "hypothetical", "information")
_CONFIDENCES = ("high", "medium", "low")
_GROUPS = ("plan", "minor", "hypothetical", "information")


def problems(document: Document) -> list[str]:
    """What is wrong with the document's shape, one sentence each; empty if nothing is."""
    found = _lacks("document", document, _DOCUMENT)
    if found:
        return found
    for name, shape in _PARTS.items():
        found += _lacks(name, document[name], shape)
    for name, shape in _ROWS.items():
        for number, row in enumerate(document[name] if shape else []):
            found += _lacks(f"{name}[{number}]", row, shape)
    for number, row in enumerate(document["key_averages"].get("rows", [])):
        found += _lacks(f"key_averages.rows[{number}]", row, _AVERAGE)
    if not found:
        found = [problem for finding in document["findings"] for problem in _finding_problems(finding)] + _contradictions(document)
    return found + _not_finite(document, "document")


def _lacks(where: str, given: Any, shape: Shape) -> list[str]:
    if not isinstance(given, dict):
        return [f"{where} is no object"]
    missing = [f"{where}.{name} is missing" for name in shape if name not in given]
    return missing + [
        f"{where}.{name} is a {type(given[name]).__name__}"
        for name, types in shape.items()
        if name in given and not isinstance(given[name], types)
    ]


def _finding_problems(finding: dict[str, Any]) -> list[str]:
    where, fires = f"finding {finding['rule']}", finding["state"] == "fires"
    found = _lacks(f"{where}: fix", finding["fix"], _FIX if fires else {"title": str}) + _lacks(
        f"{where}: saving", finding["saving"], _SAVING
    )
    for one in finding["evidence"]:
        found += _lacks(f"{where}: evidence", one, _EVIDENCE)
    for one in finding["fix"].get("call_sites", []):
        found += _lacks(f"{where}: call site", one, {"file": str, "line": int, "source": str})
    for one in finding["culprits"]:
        found += _lacks(f"{where}: culprit", one, {**_PLACE, "ms_per_step": _NUMBER})
    if not found:
        found = _saving_problems(f"{where}: saving", finding["saving"])
    if finding["state"] not in _STATES:
        found.append(f"{where}: state {finding['state']!r} is unknown")
    if fires and (finding["group"] not in _GROUPS or finding["severity"] not in SEVERITIES):
        found.append(f"{where}: fires without a known group and severity")
    if finding["state"] == "abstains" and not finding["abstains_for"]:
        found.append(f"{where}: abstains without a reason")
    if finding["state"] == "error" and not finding["error"]:
        found.append(f"{where}: failed without saying how")
    return found


def _saving_problems(where: str, saving: dict[str, Any]) -> list[str]:
    predicted = saving["predicted_ms"]
    found = [] if saving["scope"] in _SCOPES else [f"{where}: scope {saving['scope']!r} is unknown"]
    if predicted is None:
        return found
    found += _lacks(f"{where}.predicted_ms", predicted, _PREDICTED)
    if not found and not 0 <= predicted["low"] <= predicted["high"]:
        found.append(f"{where}: the range {predicted['low']}–{predicted['high']} is none")
    if saving["confidence"] not in _CONFIDENCES or not saving["reason"]:
        found.append(f"{where}: predicted without a known confidence and a reason")
    return found


def _contradictions(document: Document) -> list[str]:
    found = []
    if document["prediction_missing"] is not None and any(one["saving"]["predicted_ms"] for one in document["findings"]):
        found.append("savings are predicted although nothing can be")
    in_plan = {finding["rule"] for finding in document["findings"] if finding["group"] == "plan"}
    if {row["rule"] for row in document["plan"]} != in_plan:
        found.append("the plan is not the group 'plan'")
    whole = sum(row["share"] for row in document["ledger"])
    if document["ledger"] and not math.isclose(whole, 1, abs_tol=1e-6):
        found.append(f"the ledger's shares add up to {whole}")
    return found


def _not_finite(value: Any, where: str) -> list[str]:
    if isinstance(value, float) and not math.isfinite(value):
        return [f"{where} is {value}"]
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [problem for name, one in inner for problem in _not_finite(one, f"{where}.{name}")]
