"""The plan as annotations of a GitHub workflow: lines on stdout that GitHub shows at
the lines of the repository they name.

Source: https://docs.github.com/actions/reference/workflow-commands-for-github-actions, "Setting a warning
message"; escapes as in actions/toolkit, packages/core/src/command.ts.
"""

from __future__ import annotations

from pathlib import Path

from diagnose.document.model import Document
from diagnose.document.text import clean
from diagnose.judge.terms import Severity
from diagnose.report.alerts import Alert, Level, alerts

_COMMANDS: dict[Level, str] = {"error": "error", "warning": "warning", "note": "notice"}


def workflow_commands(document: Document, fail_on: Severity | None = None, root: Path | None = None) -> str:
    """A line for each finding of the plan, best first: of each kind GitHub shows ten.

    Empty if there is nothing to do.
    """
    return "\n".join(map(_annotation, alerts(document, fail_on, root)))


def _annotation(alert: Alert) -> str:
    properties = {"file": alert.spot.file, "line": str(alert.spot.line)} if alert.spot else {}
    properties["title"] = alert.title
    given = ",".join(f"{name}={_property(clean(value))}" for name, value in properties.items())
    return f"::{_COMMANDS[alert.level]} {given}::{_data(alert.message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
