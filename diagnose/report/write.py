"""All report files of one document."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from diagnose.document.model import Document, Written
from diagnose.document.queries import PYTHON
from diagnose.document.stored import REPORT, to_json, write_text
from diagnose.report import brief
from diagnose.report.languages.pages import html_spoken, markdown_spoken
from diagnose.report.markdown import markdown
from diagnose.report.page import page
from diagnose.report.tensorboard import write_tensorboard
from diagnose.trace.source import Source, is_url


def write_reports(document: Document, picture: dict[str, Any], source: Source, out: Path) -> None:
    """Write report.json, report.md, report.html, the brief and tb/ into `out`; `source` is a run folder, a
    trace file or its URL.

    Raises OSError, UsageError.
    """
    out.mkdir(parents=True, exist_ok=True)
    write_text(to_json(document, indent=1), out / REPORT)
    write_text(to_json(brief.brief(document), indent=1), out / brief.JSON_FILE)
    write_text(brief.markdown(document), out / brief.MARKDOWN_FILE)
    write_text(markdown_spoken(markdown(document)), out / "report.md")
    write_text(html_spoken(page(document, picture)), out / "report.html")
    write_tensorboard(document, picture, source, out)


def written_into(out: Path, source: Source, document: Document) -> Written:
    """What the reports in `out` tell people to type."""
    is_run = not is_url(source) and (Path(source) / "run.json").is_file()
    cwd, target = document.run.cwd or "", document.run.target
    return Written(
        folder=str(out.resolve()),
        run=str(Path(source).resolve()) if is_run else None,
        python=_python(),
        has_script=bool(cwd)
        and (Path(cwd).is_dir() if document.run.module else (Path(cwd) / target).is_file()),
    )


def _python() -> str:
    """`python`, or `python3`, where the PATH leads to this Python, else its path."""
    path, here = Path(sys.executable), Path.cwd()
    for name in (PYTHON, "python3"):
        found = shutil.which(name)
        if found and Path(found).parent.resolve() == path.parent.resolve():
            return name
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
