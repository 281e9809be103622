"""The result that README.md quotes: what is said of a trace in a public repository, and what its fix gained.

The traces are not part of this repository: where they are not at hand, the page stays as it is.
"""

from __future__ import annotations

import io
import re
from itertools import takewhile
from pathlib import Path

from diagnose.document.model import Document
from diagnose.document.queries import step_ms
from diagnose.document.text import ms
from diagnose.pipeline import analyse

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
TRACES = ROOT.parent / "shared" / "traces"
WITHOUT, WITH = (TRACES / f"kineto-rn50-{workers}-v2.json.gz" for workers in ("w0", "w4"))
BEGIN, END = "<!-- begin: written by docs/generate.py -->", "<!-- end -->"
WIDTH = 100


def readme() -> str:
    """The page with its result as it is today."""
    page = README.read_text(encoding="utf-8")
    if not (WITHOUT.is_file() and WITH.is_file()):
        return page
    before, after = analyse(WITHOUT), analyse(WITH)
    quoted = f"{BEGIN}\n```text\n{_summary(before)}\n```\n\n{_gained(before, after)}\n{END}"
    return re.sub(f"{BEGIN}.*?{END}", lambda _: quoted, page, flags=re.DOTALL)


def _summary(document: Document) -> str:
    """What the terminal says, without where the files lie."""
    from rich.console import Console

    from diagnose.report.terminal import print_summary

    stream = io.StringIO()
    print_summary(document, Path("diagnosis"), Console(file=stream, width=WIDTH, color_system=None))
    lines = [line.rstrip() for line in stream.getvalue().strip().splitlines()]
    return "\n".join(takewhile(lambda line: not line.startswith("Report "), lines)).rstrip()


def _gained(before: Document, after: Document) -> str:
    was_ms, is_ms = step_ms(before) or 0.0, step_ms(after) or 0.0
    return (
        "The same repository holds the same job recorded with four workers. A step takes "
        f"{ms(is_ms)} there instead of {ms(was_ms)}: {ms(was_ms - is_ms)} less."
    )
