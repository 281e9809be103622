"""What is shown in the terminal at the end: a summary that fits a small one."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from diagnose.document import savings, text
from diagnose.document.model import Document, Finding, FixResult
from diagnose.document.queries import (
    PYTHON,
    is_complete,
    planned,
    python_of,
    run_command,
    saw_no_step,
    shell_line,
    ways_instead,
)
from diagnose.report import account, next_steps, sentences, throughput, verification, watched
from diagnose.report.fitting import Block, fitted
from diagnose.report.languages import say
from diagnose.report.languages.wide import cells, padded, wrapped
from diagnose.report.patch import FILE as FIXES
from diagnose.report.patch import first_change
from diagnose.trace.notes import UNSEEN_WORK, Note

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

TOP_FIXES = 3
TOP_ROWS, LEAST_ROWS = 3, 2
MOST_TRIED = 4
BAR_WIDTH = 12
LEAST_NAME = 12  # characters: of less room names say nothing
MOST_CHANGED = 6  # lines of the first fix's change
TAB_URL = "http://localhost:6006/#diagnose"  # where TensorBoard shows the run unless told another port
HEIGHT = 24
INDENT = 3
_HELD = "\N{NO-BREAK SPACE}"
_VERDICT_COLOURS = {"faster": "bold green", "slower": "red", "changes_result": "red"}
_COLOURS = {"high": "bold red", "medium": "yellow", "low": "cyan"}


def print_summary(document: Document, out: Path, console: Console) -> None:
    """What fits `HEIGHT` lines: headline, what makes it doubtful, the best fixes and the change
    that makes the first, ledger, what to type next, where the report lies.
    """
    width = console.width
    happened = (
        "" if is_complete(document) or not sentences.ended_badly(document) else sentences.ending(document)
    )
    fastest = sentences.fastest(document)
    paragraphs = [
        [
            Block(_paragraph(document.headline, width, "bold"), least=3, weight=4),
            Block(_paragraph(sentences.doubt(document) or happened, width, "yellow"), weight=4),
        ],
        [
            Block(_paragraph(sentence, width), least=int(number == 0), weight=4)
            for number, sentence in enumerate(watched.sentences(document))
        ],
        [*_looks(document, width), *_fixes(document, first_change(document, out), width)],
        [
            *_ledger(document, width),
            Block(_paragraph(" · ".join(throughput.told(document)), width), least=0, weight=2),
            Block(_paragraph(fastest, width), least=0, weight=3),
            *(Block(_paragraph(note.text, width), least=0, weight=3) for note in _unseen(document)),
        ],
    ]
    _print(paragraphs, _pointers(document, out), console)


def _unseen(document: Document) -> list[Note]:
    return [note for note in document.notes if note.code == UNSEEN_WORK][:1]


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
    out = _typed(out)
    _print(paragraphs, [*_to_apply(document, out), *_places(document, out)], console)


def _print(paragraphs: list[list[Block]], pointers: list[str], console: Console) -> None:
    from rich.text import Text

    around = 2  # the blank lines above everything and above the pointers
    console.print()
    for line in fitted(paragraphs, HEIGHT - around - len(pointers)):
        console.print(line)
    console.print()
    for pointer in pointers:
        console.print(Text(pointer), soft_wrap=True)  # to be copied, so never broken into lines


def print_headline(document: Document, out: Path, console: Console) -> None:
    """Two lines, for one of many traces: headline and badge, and where its report lies."""
    from rich.text import Text

    badge = f" ({document.badge})" if document.badge else ""
    console.print(
        Text.assemble((text.clean(document.run.target), "bold"), f": {_plain(document.headline)}{badge}"),
        soft_wrap=True,
    )
    console.print(Text(f"  {out / 'report.html'}"), soft_wrap=True)


def _plain(sentence: str) -> str:
    """A sentence of the document in the language that is spoken, without the back-ticks that Markdown needs
    and without anything a terminal obeys.
    """
    return text.clean(say(sentence)).replace("`", "")


def _looks(document: Document, width: int) -> list[Block]:
    """Where to look first, where no fix is known; beside a plan only what leads the report."""
    looks = account.looks(document)
    if document.plan:
        return [Block(_paragraph(look, width), weight=4) for look in looks[:1]]
    return [
        Block(_paragraph(f"{number}. {look}", width), least=int(number == 1), weight=4)
        for number, look in enumerate(looks, 1)
    ]


def _ledger(document: Document, width: int) -> list[Block]:
    rows = sorted(document.ledger, key=lambda row: -row.share)
    shown = [
        (row.title, row.ms_per_step, row.share, account.names_in(row, document)) for row in rows[:TOP_ROWS]
    ]
    if rest := rows[TOP_ROWS:]:
        shown.append(("the rest", sum(row.ms_per_step for row in rest), sum(row.share for row in rest), ""))
    return [
        Block([_row(*row, width)], least=int(number < LEAST_ROWS), weight=5)
        for number, row in enumerate(shown)
    ]


def _row(title: str, ms: float, part: float, names: str, width: int) -> Text:
    from rich.text import Text

    bar = f"{text.bar(part, BAR_WIDTH):<{BAR_WIDTH}}"
    line = f"{padded(_plain(title), 22)} {text.ms(ms):>11} {text.share(part):>8}  {bar}"
    if width - cells(line) - 2 >= LEAST_NAME:
        line = f"{line}  {_plain(names)}"
    while cells(line) > width:
        line = f"{line[:-2]}…"
    return Text(line.rstrip())


def _fixes(document: Document, change: list[str], width: int) -> list[Block]:
    plan = planned(document)
    shown = plan[: TOP_FIXES - bool(change)]
    blocks = [
        [*_fix(number, finding, document, width), *(_change(change, width) if number == 1 else [])]
        for number, finding in enumerate(shown, 1)
    ]
    return [block for of_fix in blocks for block in of_fix] + _more(len(plan) - len(shown))


def _change(lines: list[str], width: int) -> list[Block]:
    """The lines of a change; where they are too many only those that it adds."""
    from rich.text import Text

    added = [line for line in lines if line.startswith("+")]
    for some in (lines, added):
        wrapped = [
            Text(" " * INDENT + part, style="green" if line.startswith("+") else "red")
            for line in some
            for part in _wrapped_code(line, width - INDENT)
        ]
        if len(wrapped) <= MOST_CHANGED:
            break
    else:
        wrapped = [*wrapped[: MOST_CHANGED - 1], Text(" " * INDENT + "…")]
    return [Block(wrapped, least=len(wrapped))] if wrapped else []


def _wrapped_code(line: str, width: int) -> list[str]:
    """`- code`, without the indentation of the code, as lines of the terminal's width."""
    sign, code = line[0], text.clean(line[1:].strip())
    wrapper = textwrap.TextWrapper(
        width, initial_indent=f"{sign} ", subsequent_indent=" " * 6, break_on_hyphens=False
    )
    return wrapper.wrap(code) or [sign]


def _more(count: int) -> list[Block]:
    from rich.text import Text

    return [Block([Text(" " * INDENT + say(f"{count} more in the report"))])] if count > 0 else []


def _fix(number: int, finding: Finding, document: Document, width: int) -> list[Block]:
    """What to do and where; below it for how much, and how sure that is."""
    from rich.text import Text

    where = text.end_of(_plain(sentences.where(finding)), width - INDENT)
    title = Text.assemble(
        f"{number}. ",
        (text.clean(_plain(finding.fix.title), width - INDENT), _COLOURS.get(finding.severity or "", "")),
    )
    fits = title.cell_len + len(where) + INDENT <= width
    below = [] if fits or not where else [Text(" " * INDENT + where)]
    parts = [_plain(part).replace(" ", _HELD) for part in _worth(finding, document) if part]
    worth = _lines(" · ".join(parts), width, indent=INDENT)
    others = [
        _plain(f"or {sentences.alternative(other, document)}") for other in ways_instead(finding, document)
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
    return [
        savings.worth(finding, document),
        savings.then(row, document),
        savings.sureness(finding, document),
    ]


def _paragraph(sentence: str, width: int, style: str = "") -> list[Text]:
    """A sentence as lines of the terminal's width, numbers held to their units."""
    return _lines(re.sub(r"(?<=\d) (?=ms\b|%)", _HELD, _plain(sentence)), width, style)


def _lines(held: str, width: int, style: str = "", *, indent: int = 0) -> list[Text]:
    from rich.text import Text

    lines = wrapped(held, max(width - indent, 2))
    return [Text(" " * indent + line.replace(_HELD, " "), style=style) for line in lines]


def _pointers(document: Document, out: Path) -> list[str]:
    """What to type next, and where to look."""
    out = _typed(out)
    return [*_to_apply(document, out), *_next_command(document), *_places(document, out)]


def _typed(path: Path) -> Path:
    """As short as it can be typed here."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _to_apply(document: Document, out: Path) -> list[str]:
    if not document.patch or not document.patch.patched:
        return []
    cwd, diff = document.run.cwd or "", out / FIXES
    is_here = Path(cwd) == Path.cwd()
    command = ["git", "apply", str(diff)] if is_here else ["git", "-C", cwd, "apply", str(diff.resolve())]
    return [_pointer("To apply", shell_line(command))]


def _next_command(document: Document) -> list[str]:
    if planned(document) and (measure := next_steps.verify_command(document)):
        return [_pointer("To measure", measure)]
    if saw_no_step(document) or not (planned(document) or not is_complete(document)):
        return []
    return [_pointer("Then", command)] if (command := run_command(document)) else []


def _places(document: Document, out: Path) -> list[str]:
    """The page, and what shows it in TensorBoard."""
    report = _pointer("Report", str(out / "report.html"))
    if saw_no_step(document):
        return [report]
    python = python_of(document)
    tensorboard = ["tensorboard"] if python == PYTHON else [python, "-m", "tensorboard.main"]
    return [
        report,
        _pointer("TensorBoard", f"{shell_line([*tensorboard, '--logdir', str(out)])} · {TAB_URL}"),
    ]


def _pointer(label: str, where: str) -> str:
    return f"{padded(say(label), 13)}{where}"
