"""What is said of traces that others recorded, and what was written of them beforehand: docs/corpus.md.

python -m benchmarks corpus FOLDER…
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import ROOT, headlines
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
COLUMNS = ("Trace", "Written beforehand", "Headline", "Right", "Most of a step", "Found")

Row = tuple[str, str, str, str, str, str]


def row(path: Path, document: Document) -> Row:
    """A trace: its name, what was written of it and what is said, where most of a step goes, the first
    findings.
    """
    largest = sorted(document.ledger, key=lambda one: -one.share)[:2]
    ledger = ", ".join(f"{one.title} {text.share(one.share)}" for one in largest if one.share >= 0.01)
    return (
        *_judged(path, headlines.of_document(document)),
        prose(ledger or "no complete step"),
        "<br>".join(map(_finding, found(document)[:FIRST])) or "nothing",
    )


def refusal(path: Path, error: DiagnoseError) -> Row:
    return *_judged(path, headlines.refusal(path, error)), "", ""


def _judged(path: Path, answer: headlines.Answer) -> tuple[str, str, str, str]:
    expected = headlines.written().get(name(path))
    if expected is None:
        return code(name(path)), "", prose(answer.headline), ""
    right = headlines.Judged(name(path), expected, answer).right
    return code(name(path)), prose(expected["says"]), prose(answer.headline), "yes" if right else "**no**"


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


def page(rows: list[Row], summary: list[str]) -> str:
    """The page, a line a trace."""
    intro = (
        f"What a report says first of each of {len(rows)} traces that others recorded (public repositories, "
        "all kinds of hardware and versions of torch), beside what an engineer wrote down before it was "
        f"looked at (`benchmarks/headlines.toml`; a row never changes), and the first {FIRST} findings. "
        "A headline is right if its kind and one of its names were written beforehand. Written by `python "
        "-m benchmarks corpus`; a test keeps it current. A lone trace knows less than a run: what needs "
        "facts of the run abstains here."
    )
    title = "# What is said of traces that others recorded"
    return (
        "\n\n".join([title, intro, "\n".join(f"- {one}" for one in summary), unpadded_table(COLUMNS, rows)])
        + "\n"
    )


def line(cells: Row) -> str:
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


def read(path: Path) -> tuple[Row, headlines.Answer]:
    try:
        document = analyse(path)
        return row(path, document), headlines.of_document(document)
    except DiagnoseError as error:
        return refusal(path, error), headlines.refusal(path, error)


def main(arguments: Sequence[str]) -> None:
    options = parser("corpus", __doc__)
    options.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="of *.gz")
    folders = options.parse_args(arguments).folders
    paths = [path for folder in folders for path in sorted(folder.glob("*.gz"))]
    if not paths:
        sys.exit(f"no traces in {', '.join(map(str, folders))}")
    rows, answers = zip(*map(read, paths), strict=True)
    known = headlines.written()
    found = [
        headlines.Judged(name(path), known[name(path)], answer)
        for path, answer in zip(paths, answers, strict=True)
        if name(path) in known
    ]
    PAGE.write_text(page(list(rows), headlines.summary(found)), encoding="utf-8")
    print(f"{PAGE}: {len(paths)} traces")
