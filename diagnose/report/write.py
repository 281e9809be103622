"""All report files of one document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from diagnose.document.model import Document
from diagnose.document.stored import REPORT, to_json, write_text
from diagnose.report.markdown import markdown
from diagnose.report.page import page
from diagnose.report.tensorboard import write_tensorboard
from diagnose.trace.source import Source


def write_reports(document: Document, picture: dict[str, Any], source: Source, out: Path) -> None:
    """Write report.json, report.md, report.html and tb/ into `out`; `source` is a
    run folder, a trace file or its URL.

    Raises OSError, UsageError.
    """
    out.mkdir(parents=True, exist_ok=True)
    write_text(to_json(document, indent=1), out / REPORT)
    write_text(markdown(document), out / "report.md")
    write_text(page(document, picture), out / "report.html")
    write_tensorboard(document, picture, source, out)
