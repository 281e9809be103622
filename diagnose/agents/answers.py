"""What an agent is told of a run that is there: short, and only what stands in its report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import to_builtins

from diagnose.document import text
from diagnose.document.model import Document, Finding
from diagnose.document.stored import REPORT, read_document
from diagnose.errors import DiagnoseError
from diagnose.judge.rules import load_rules
from diagnose.report import verification
from diagnose.report.brief import brief


def document_in(run: Path) -> Document:
    """The result document of a folder, or of a report.json. Raises DiagnoseError."""
    path = run / REPORT if run.is_dir() else run
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DiagnoseError(f"{run} holds no report", saw=error.strerror or str(error)) from error
    return read_document(content, str(path))


def brief_of(document: Document, run: str) -> dict[str, Any]:
    """The brief, and the run's folder as other tools take it."""
    told: dict[str, Any] = {"run": run, **to_builtins(brief(document))}
    if document.verification:
        told["tried"] = [
            {
                "fix": verification.title(result) or verification.call(result),
                "verdict": verification.verdict(result),
                "saved": verification.saved(result),
            }
            for result in verification.all_tried(document.verification)
        ]
    return told


def explained(document: Document, what: str) -> dict[str, Any]:
    """A rule with its evidence, or all that is known of a line `file:line`. Raises DiagnoseError."""
    finding = next((one for one in document.findings if one.rule == what), None)
    if finding is not None:
        return _rule(finding)
    file, _, line = what.rpartition(":")
    if not (file and line.isdecimal()):
        raise DiagnoseError(f"{what} is neither a rule of this run nor a line, file.py:12")
    return _line(document, file, int(line))


def _rule(finding: Finding) -> dict[str, Any]:
    told: dict[str, Any] = to_builtins(finding)
    kept = (
        "rule",
        "state",
        "group",
        "severity",
        "symptom",
        "why",
        "ms_per_step",
        "share",
        "evidence",
        "culprits",
        "fix",
        "saving",
        "because_of",
        "abstains_for",
        "false_positives",
        "references",
    )
    return {name: told[name] for name in kept if told.get(name) not in (None, "", [])}


def _line(document: Document, file: str, line: int) -> dict[str, Any]:
    def is_it(place: Any) -> bool:
        return bool(place.line == line and (place.file == file or str(place.file).endswith(f"/{file}")))

    findings = [
        {
            "rule": finding.rule,
            "do": finding.fix.title,
            "symptom": finding.symptom,
            "ms_per_step": culprit.ms_per_step,
        }
        for finding in document.findings
        if finding.state == "fires"
        for culprit in finding.culprits
        if is_it(culprit)
    ]
    spends = [
        {"part": row.row, **to_builtins(spender)}
        for row in document.account
        for spender in row.spenders
        if is_it(spender)
    ]
    lines = [to_builtins(one) for one in document.lines if is_it(one)]
    if not (findings or spends or lines):
        raise DiagnoseError(f"nothing was recorded of {file}:{line}", do="the brief's `where` has lines")
    return {"line": f"{file}:{line}", "findings": findings, "spends": spends, "calls": lines}


def rules_about(words: str) -> list[str]:
    """The rules whose text holds all the words, each with what it is about."""
    wanted = words.lower().split()
    found = []
    for rule in load_rules().values():
        told = f"{rule.id} {rule.symptom} {rule.fix.title}".lower()
        if all(word in told for word in wanted):
            found.append(f"{rule.id}: {text.clean(rule.symptom if wanted else rule.cause)}")
    return found
