"""What the rules say of traces that others recorded, into docs/corpus.md.

python -m benchmarks corpus FOLDER
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import ROOT
from benchmarks.options import parser
from diagnose.document import savings, text
from diagnose.document.model import Document, Finding, Saving
from diagnose.document.queries import in_group, planned
from diagnose.document.text import code, prose
from diagnose.errors import DiagnoseError
from diagnose.pipeline import analyse
from diagnose.report.blocks import unpadded_table
from diagnose.report.findings import where

PAGE = ROOT / "docs" / "corpus.md"
FIRST = 3


def row(path: Path, document: Document) -> tuple[str, str, str]:
    """A trace: its name, where most of a step goes, the first findings."""
    largest = sorted(document.ledger, key=lambda one: -one.share)[:2]
    ledger = ", ".join(f"{one.title} {text.share(one.share)}" for one in largest if one.share >= 0.01)
    return (
        code(name(path)),
        prose(ledger or "no complete step"),
        "<br>".join(map(_finding, found(document)[:FIRST])) or "nothing",
    )


def refusal(path: Path, error: DiagnoseError) -> tuple[str, str, str]:
    return code(name(path)), "", prose(f"refused: {error.what.replace(str(path), path.name)}")


def name(path: Path) -> str:
    return path.name.split(".")[0]


def found(document: Document) -> list[Finding]:
    """The plan, then what bounds the step."""
    return [*planned(document), *in_group(document, "information")]


def _finding(finding: Finding) -> str:
    return (
        f"{code(finding.rule)} {where(finding) if finding.culprits else ''} "
        f"{_gain(finding.saving, finding.share)}"
    )


def _gain(saving: Saving, at_stake: float | None) -> str:
    """What is predicted, else an upper bound with its share of the step."""
    if saving.predicted_ms is not None:
        low, high = saving.predicted_ms.low, saving.predicted_ms.high
        return "predicted 0 ms alone" if savings.is_nothing(high) else f"predicted {savings.span(low, high)}"
    if saving.at_most_ms is None:
        return "not known in ms"
    return f"at most {text.ms(saving.at_most_ms)}" + (
        f" ({text.share(at_stake)})" if at_stake is not None else ""
    )


def page(rows: list[tuple[str, str, str]]) -> str:
    """The page, a line a trace."""
    intro = (
        f"The first {FIRST} findings on each of {len(rows)} traces that others recorded (public "
        "repositories, all kinds of hardware and versions of torch). Written by `python -m benchmarks "
        "corpus`; a test keeps it current. A lone trace knows less than a run: what needs facts of the run "
        "abstains here."
    )
    found_by_trace = unpadded_table(("Trace", "Most of a step", "Found"), rows)
    return "\n\n".join(["# What the rules say of traces that others recorded", intro, found_by_trace]) + "\n"


def line(cells: tuple[str, str, str]) -> str:
    """The page's line for one trace, without the padding that depends on the others."""
    return " | ".join(" ".join(cell.split()) for cell in cells)


def lines(markdown: str) -> dict[str, str]:
    """The page's lines by trace, in the form of `line`."""
    cells = [
        [cell.strip() for cell in row.strip("|").split(" | ")]
        for row in markdown.splitlines()
        if row.startswith("| `")
    ]
    return {one[0].strip("`"): " | ".join(" ".join(cell.split()) for cell in one) for one in cells}


def read(path: Path) -> tuple[str, str, str]:
    try:
        return row(path, analyse(path))
    except DiagnoseError as error:
        return refusal(path, error)


def main(arguments: Sequence[str]) -> None:
    options = parser("corpus", __doc__)
    options.add_argument("traces", type=Path, metavar="FOLDER", help="of *.gz")
    folder = options.parse_args(arguments).traces
    paths = sorted(folder.glob("*.gz"))
    if not paths:
        sys.exit(f"no traces in {folder}")
    PAGE.write_text(page([read(path) for path in paths]), encoding="utf-8")
    print(f"{PAGE}: {len(paths)} traces")
