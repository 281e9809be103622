"""What is shown in the terminal at the end: a summary that fits a small one."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from diagnose.document import savings, text
from diagnose.document.model import Document, Finding, FixResult
from diagnose.document.queries import (
    alternatives,
    is_complete,
    place,
    planned,
    run_command,
    saw_no_step,
    shell_line,
)
from diagnose.report import sentences, verification
from diagnose.report.fitting import Block, fitted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

TOP_FIXES = 3
TOP_ROWS, LEAST_ROWS = 3, 2
MOST_TRIED = 4
HEIGHT = 24
INDENT = 3
_HELD = "\N{NO-BREAK SPACE}"
_VERDICT_COLOURS = {"faster": "bold green", "slower": "red", "changes_result": "red"}
_COLOURS = {"high": "bold red", "medium": "yellow", "low": "cyan"}


def print_summary(document: Document, out: Path, console: Console) -> None:
    """What fits `HEIGHT` lines: verdict, what makes it doubtful, ledger, the best fixes, where
    the report lies, what to type next.
    """
    width = console.width
    happened = (
        "" if is_complete(document) or not sentences.ended_badly(document) else sentences.ending(document)
    )
    fastest = "" if sentences.runs_ahead(document) else sentences.fastest(document)  # else a caution says so
    paragraphs = [
        [
            Block(_paragraph(document.headline, width, "bold"), least=3, weight=4),
            Block(_paragraph(sentences.doubt(document) or happened, width, "yellow"), weight=4),
        ],
        [
            *_ledger(document),
            Block(_paragraph(" · ".join(sentences.throughput(document)), width), least=0, weight=2),
            Block(_paragraph(fastest, width), least=0, weight=3),
        ],
        _fixes(document, width),
    ]
    _print(paragraphs, _pointers(document, out), console)


def print_verification(document: Document, out: Path, console: Console) -> None:
    """What each fix was measured to gain, and where the report lies: what fits `HEIGHT` lines."""
    width = console.width
    tried = verification.all_tried(document.verification) if document.verification else []
    paragraphs = [
        [Block(_paragraph(document.headline, width, "bold"), least=3, weight=4)],
        [
            *(block for one in tried[:MOST_TRIED] for block in _tried(one, width)),
            *_more(len(tried) - MOST_TRIED),
        ],
        [Block(_paragraph(remark, width), least=0, weight=5) for remark in verification.remarks(document)],
    ]
    _print(paragraphs, _pointers(document, out)[:2], console)


def _print(paragraphs: list[list[Block]], pointers: list[Text], console: Console) -> None:
    around = 2  # the blank lines above everything and above the pointers
    console.print()
    for line in fitted(paragraphs, HEIGHT - around - len(pointers)):
        console.print(line)
    console.print()
    for pointer in pointers:
        console.print(pointer, soft_wrap=True)  # to be copied, so never broken into lines


def print_headline(document: Document, out: Path, console: Console) -> None:
    """Two lines, for one of many traces: the verdict and where its report lies."""
    from rich.text import Text

    console.print(
        Text.assemble((text.clean(document.run.target), "bold"), f": {_plain(document.headline)}"),
        soft_wrap=True,
    )
    console.print(Text(f"  {out / 'report.html'}"), soft_wrap=True)


def _plain(sentence: str) -> str:
    """A sentence of the document without the back-ticks that Markdown needs
    and without anything a terminal obeys.
    """
    return text.clean(sentence).replace("`", "")


def _ledger(document: Document) -> list[Block]:
    rows = sorted(document.ledger, key=lambda row: -row.share)
    shown = [(row.title, row.ms_per_step, row.share) for row in rows[:TOP_ROWS]]
    if rest := rows[TOP_ROWS:]:
        shown.append(("the rest", sum(row.ms_per_step for row in rest), sum(row.share for row in rest)))
    return [Block([_row(*row)], least=int(number < LEAST_ROWS), weight=5) for number, row in enumerate(shown)]


def _row(title: str, ms: float, part: float) -> Text:
    from rich.text import Text

    return Text(f"{text.clean(title):<22} {text.ms(ms):>11} {text.share(part):>8}  {text.bar(part, 30)}")


def _fixes(document: Document, width: int) -> list[Block]:
    plan = planned(document)
    blocks = [
        block
        for number, finding in enumerate(plan[:TOP_FIXES], 1)
        for block in _fix(number, finding, document, width)
    ]
    return blocks + _more(len(plan) - TOP_FIXES)


def _more(count: int) -> list[Block]:
    from rich.text import Text

    return [Block([Text(f"{' ' * INDENT}{count} more in the report")])] if count > 0 else []


def _fix(number: int, finding: Finding, document: Document, width: int) -> list[Block]:
    """What to do and where; below it for how much, and how sure that is."""
    from rich.text import Text

    line = place(finding)
    where = text.end_of(text.place(line), min(text.LONGEST_NAME, width - INDENT)) if line else ""
    title = Text.assemble(
        f"{number}. ",
        (text.clean(_plain(finding.fix.title), width - INDENT), _COLOURS.get(finding.severity or "", "")),
    )
    fits = title.cell_len + len(where) + INDENT <= width
    below = [] if fits or not where else [Text(" " * INDENT + where)]
    parts = [_plain(part).replace(" ", _HELD) for part in _worth(finding, document) if part]
    worth = _lines(" · ".join(parts), width, indent=INDENT)
    others = [
        f"or {_plain(sentences.alternative(other, document))}" for other in alternatives(finding, document)
    ]
    return [
        Block([title.append(f" · {where}" if fits and where else "")]),
        Block(below),
        Block(worth, weight=6),
        *(Block(_lines(other, width, indent=INDENT), weight=5) for other in others),
    ]


def _tried(result: FixResult, width: int) -> list[Block]:
    told = [verification.verdict(result), verification.saved(result), f"losses {verification.losses(result)}"]
    parts = [_plain(part) for part in told if not part.endswith(text.UNKNOWN)]
    title = _paragraph(result.title, width, _VERDICT_COLOURS.get(result.verdict or "", ""))
    return [Block(title), Block(_lines(" · ".join(parts), width, indent=INDENT), weight=6)]


def _worth(finding: Finding, document: Document) -> list[str]:
    """`saves 3.1–4.8 ms a step, 25–39 %`, `step then 9 ms`, `high confidence, preview rule`."""
    row = document.plan[planned(document).index(finding)]
    then = savings.together(row, document)
    with_others = f"with those above {then}" if then and row is not document.plan[0] else then
    return [savings.worth(finding, document), with_others, savings.sureness(finding, document)]


def _paragraph(sentence: str, width: int, style: str = "") -> list[Text]:
    """A sentence as lines of the terminal's width, numbers held to their units."""
    return _lines(re.sub(r"(?<=\d) (?=ms\b|%)", _HELD, _plain(sentence)), width, style)


def _lines(held: str, width: int, style: str = "", *, indent: int = 0) -> list[Text]:
    from rich.text import Text

    lead = " " * indent
    wrapper = textwrap.TextWrapper(max(width, indent + 2), lead, lead, break_on_hyphens=False)
    return [Text(line.replace(_HELD, " "), style=style) for line in wrapper.wrap(held)]


def _pointers(document: Document, out: Path) -> list[Text]:
    """Where to look, and the one thing to type next."""
    from rich.text import Text

    report = f"Report       {out / 'report.html'}"
    if saw_no_step(document):
        return [Text(report)]
    lines = [report, f"TensorBoard  {shell_line(['tensorboard', '--logdir', str(out)])}"]
    if planned(document) and (measure := sentences.verify_command(document, str(out))):
        lines.append(f"To measure   {measure}")
    elif run_command(document) and (planned(document) or not is_complete(document)):
        lines.append(f"Then         {run_command(document)}")
    return [Text(line) for line in lines]
