"""All report files of one document."""

from __future__ import annotations

from pathlib import Path

from diagnose.report.document import Document, to_json, write_text
from diagnose.report.markdown import markdown
from diagnose.report.tensorboard import write_tensorboard


def write_reports(document: Document, source: Path, out: Path) -> None:
    """Write report.json, report.md and tb/ into `out`; `source` is the run folder or the trace file. Raises OSError."""
    out.mkdir(parents=True, exist_ok=True)
    write_text(to_json(document, indent=1), out / "report.json")
    write_text(markdown(document), out / "report.md")
    write_tensorboard(document, source, out)
