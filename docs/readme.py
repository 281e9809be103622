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
from diagnose.document.savings import span
from diagnose.document.text import UNKNOWN, ms
from diagnose.pipeline import analyse

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
TRACES = ROOT.parent / "shared" / "traces"
SHOWN = TRACES / "kineto-rn50-w0-v2.json.gz"
# The same job without workers and with four, as the repository's samples were recorded five times.
PAIRS = [
    tuple(TRACES / f"kineto-rn50-{name.format(workers)}.json.gz" for workers in ("w0", "w4"))
    for name in ("{}-v2", "{}-v0", "{}-v1", "{}-v3", "oldapi-{}")
]
RULE = "input-wait-no-workers"
BEGIN, END = "<!-- begin: written by docs/generate.py -->", "<!-- end -->"
WIDTH = 100


def readme() -> str:
    """The page with its result as it is today."""
    page = README.read_text(encoding="utf-8")
    if not all(path.is_file() for pair in PAIRS for path in pair):
        return page
    quoted = f"{BEGIN}\n```text\n{_summary(analyse(SHOWN))}\n```\n\n{_gained()}\n{END}"
    return re.sub(f"{BEGIN}.*?{END}", lambda _: quoted, page, flags=re.DOTALL)


def _summary(document: Document) -> str:
    """What the terminal says, without where the files lie."""
    from rich.console import Console

    from diagnose.report.terminal import print_summary

    stream = io.StringIO()
    print_summary(document, Path("diagnosis"), Console(file=stream, width=WIDTH, color_system=None))
    lines = [line.rstrip() for line in stream.getvalue().strip().splitlines()]
    return "\n".join(takewhile(lambda line: not line.startswith("Report "), lines)).rstrip()


def _gained() -> str:
    """What four workers really gained in each pair, beside what was predicted of the one without."""
    pairs = [(analyse(without), analyse(with_four)) for without, with_four in PAIRS]
    gained = [ms((step_ms(a) or 0.0) - (step_ms(b) or 0.0)) for a, b in pairs]
    predicted = [saving(a) for a, _ in pairs]
    real, expected = (", ".join(known[:-1]) + f" and {known[-1]}" for known in (gained, predicted))
    return (
        "Five recordings of this job with four workers are there, too. "
        f"They take {real} less per step than without; predicted were {expected}. "
        "Recordings of six steps tell no better than that; `verify` measures as many as it takes."
    )


def saving(document: Document) -> str:
    """What worker processes are predicted to save."""
    known = next(finding.saving for finding in document.findings if finding.rule == RULE).predicted_ms
    return span(known.low, known.high) if known else UNKNOWN
