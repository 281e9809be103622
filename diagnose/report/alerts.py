"""A finding of the plan as tools that look at code show it: how loudly, in which words,
and at which line of the repository.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from diagnose.document import savings, text
from diagnose.document.model import Document, Finding
from diagnose.document.queries import (
    each_step,
    is_at_least,
    ledger_ms,
    line_to_change,
    planned,
    recorded_by_us,
)
from diagnose.judge.terms import Severity

LEAST_SHARE = 0.001  # of the step, that is worth a word
Level = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Spot:
    """A line of a file of the repository; `file` is relative to its root, with slashes."""

    file: str
    line: int


@dataclass(frozen=True)
class Alert:
    """`title`, `message`: plain text on one line; `spot`:

    None where no line of the repository is to blame.
    """

    finding: Finding
    level: Level
    title: str
    message: str
    spot: Spot | None


def alerts(document: Document, fail_on: Severity | None = None, root: Path | None = None) -> list[Alert]:
    """Those of the plan, best first.

    `fail_on`: the severity that fails the job; `root`: of the repository.
    """
    where = root or repository_root()
    return [
        Alert(
            one,
            level(one, fail_on),
            text.clean(one.fix.title),
            message(one, document),
            spot(one, document, where),
        )
        for one in planned(document)
    ]


def level(finding: Finding, fail_on: Severity | None = None) -> Level:
    """A slow script is a correct script, so a finding is an error only where `--fail-on` makes it fail the
    job.

    Else GitHub's code scanning, which fails a pull request for errors, would do so unasked. What is worth at
    least 8 % of the step (severity medium and high) is a warning, less a note.
    """
    if fail_on and is_at_least(finding.severity, fail_on):
        return "error"
    return "note" if finding.severity == "low" else "warning"


def message(finding: Finding, document: Document) -> str:
    """One sentence: what is slow, its share of the step, the fix, and what that saves."""
    cause, title = finding.cause or finding.rule.replace("-", " "), finding.fix.title
    told = f"{cause[:1].upper()}{cause[1:]}{_share(finding, document)}: {title[:1].lower()}{title[1:]}"
    return text.clean(f"{told}{_saves(finding, document)}.")


def _share(finding: Finding, document: Document) -> str:
    """Empty for what only some steps have, and where it is next to nothing."""
    whole_ms = ledger_ms(document)
    part = (finding.ms_per_step or 0.0) / whole_ms if whole_ms else 0.0
    told = finding.saving.scope == "step" and part >= LEAST_SHARE
    return f" takes {text.share(part)} of {each_step(document)}" if told else ""


def _saves(finding: Finding, document: Document) -> str:
    """Empty where that is not known, or nothing without other fixes."""
    known = finding.saving
    most_ms = known.predicted_ms.high if known.predicted_ms else known.at_most_ms
    if known.measured_ms is None and (
        not most_ms or savings.is_nothing(most_ms) or document.prediction_missing
    ):
        return ""
    return f" to save {savings.saving(finding, document, savings.per_step(document))}"


def repository_root() -> Path:
    """Where a CI job has checked the repository out, else the working directory."""
    return Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())


def spot(finding: Finding, document: Document, root: Path) -> Spot | None:
    """The finding's line; where none is known, the first one of the script, for
    what has no place is shown nowhere.
    """
    line = line_to_change(finding)
    if line is None and (not recorded_by_us(document) or document.run.module):
        return None
    file = _in_repository(line.file if line else document.run.target, document, root)
    return Spot(file, max(1, line.line) if line else 1) if file else None


def _in_repository(file: str, document: Document, root: Path) -> str | None:
    """Relative paths of a document start where the script ran; those of a trace,
    where nobody knows that, at the root.
    """
    path = Path(os.path.normpath(root / (document.run.cwd or "") / file))
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else None
