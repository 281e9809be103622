"""The plan as SARIF 2.1.0, which code scanning of GitHub and others reads.

Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html; what GitHub makes of it:
https://docs.github.com/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from msgspec import to_builtins

from diagnose.document import text
from diagnose.document.model import Culprit, Document, Finding
from diagnose.document.queries import place, planned
from diagnose.judge.terms import Severity
from diagnose.report import sentences
from diagnose.report.alerts import Alert, alerts, level

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"
_FINGERPRINT = "diagnose/v1"
_SAVING = ("at_most_ms", "predicted_ms", "confidence", "measured_ms", "verdict")


def sarif(
    documents: Sequence[Document], fail_on: Severity | None = None, root: Path | None = None
) -> dict[str, Any]:
    """One log, with a run for each document. A rule is listed where it has a result."""
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [_run(document, alerts(document, fail_on, root)) for document in documents],
    }


def _run(document: Document, found: list[Alert]) -> dict[str, Any]:
    rules = [_rule(finding) for finding in planned(document)]
    driver = {"name": "diagnose", "version": document.tool.version, "rules": rules}
    return {
        "tool": {"driver": driver},
        # Results of different scripts do not replace each other.
        "automationDetails": {"id": f"diagnose/{text.clean(document.run.target)}/"},
        "invocations": [{"executionSuccessful": not sentences.ended_badly(document)}],
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(alert, number) for number, alert in enumerate(found)],
    }


def _rule(finding: Finding) -> dict[str, Any]:
    why, fix = _plain(finding.why), finding.fix
    help_parts = {
        "Why": why,
        "How": _plain(fix.how),
        "Caution": _plain(fix.caution),
        "When it is fine": _plain(finding.false_positives),
    }
    told = [f"{title}: {sentence}" for title, sentence in help_parts.items() if sentence]
    url = next(
        (reference for reference in finding.references if reference.startswith(("https://", "http://"))), None
    )
    return {
        "id": finding.rule,
        "shortDescription": {"text": text.clean(fix.title)},
        "fullDescription": {"text": _plain(finding.symptom)},
        "help": {"text": "\n\n".join(told)},
        **({"helpUri": url} if url else {}),
        "defaultConfiguration": {"level": level(finding)},
        "properties": {
            "tags": ["performance"],
            "precision": "high" if finding.status == "stable" else "medium",
        },
    }


def _result(alert: Alert, number: int) -> dict[str, Any]:
    finding = alert.finding
    saving = {name: value for name, value in to_builtins(finding.saving).items() if name in _SAVING}
    known = {"ms_per_step": finding.ms_per_step, "share": finding.share, **saving}
    return {
        "ruleId": finding.rule,
        "ruleIndex": number,
        "level": alert.level,
        "message": {"text": _plain(alert.message)},
        "locations": _locations(alert),
        "partialFingerprints": {_FINGERPRINT: _fingerprint(finding)},
        "rank": min(100.0, max(0.0, 100.0 * (finding.share or 0.0))),
        "properties": {
            "severity": finding.severity,
            **{name: value for name, value in known.items() if value is not None},
        },
    }


def _locations(alert: Alert) -> list[dict[str, Any]]:
    if alert.spot is None:
        return []
    artifact = {"uri": quote(alert.spot.file, errors="replace"), "uriBaseId": _ROOT}
    return [{"physicalLocation": {"artifactLocation": artifact, "region": {"startLine": alert.spot.line}}}]


def _fingerprint(finding: Finding) -> str:
    """The same for the same finding of another run, also if other lines moved it or its time changed."""
    line = place(finding)
    function = line.function if isinstance(line, Culprit) else ""
    where = [line.file.strip(), function.strip(), line.source.strip()] if line else ["", "", ""]
    parts = [finding.rule, *where]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]


def _plain(sentence: str) -> str:
    return text.clean(sentence).replace("`", "'")
