"""What is shown in the terminal: a line per phase while the script runs, a short summary at the end."""

from __future__ import annotations

import re
import shlex
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from diagnose.report import sentences, text, verification
from diagnose.report.document import Document, Finding, is_complete, place, planned, recorded_by_us, run_command

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from diagnose.trace.content import Content

TOP_FIXES = 3
TOP_ROWS = 3
INDENT = 3
_HELD = "\N{NO-BREAK SPACE}"
REMARK_S = 2  # long enough to wonder whether anything happens
_ERASE_LINE = "\r\x1b[K"
_VERDICT_COLOURS = {"faster": "bold green", "slower": "red", "changes_result": "red"}
_COLOURS = {"high": "bold red", "medium": "yellow", "low": "cyan"}


class Progress:
    """Says what is going on, a whole line at a time.

    The script owns the terminal meanwhile: a line of ours that updated itself would be torn apart by its output. In a terminal a half-drawn
    progress bar of the script's is erased first; it draws itself again on the next line.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._lead = _ERASE_LINE if self._stream.isatty() else ""

    def __call__(self, phase: str, done: str = "") -> None:
        if phase:
            self._stream.write(f"{self._lead}diagnose: {text.clean(phase)} … {done}".rstrip() + "\n")
            self._stream.flush()


class ReadingProgress:
    """Says how much of a trace is read, where that takes long: a line every `REMARK_S` seconds, the first one after as many."""

    def __init__(self, progress: Progress, clock: Callable[[], float] = time.monotonic) -> None:
        self._progress = progress
        self._clock = clock
        self._content: Content | None = None
        self._due = 0.0

    def __call__(self, content: Content) -> None:
        now = self._clock()
        if content is not self._content:
            self._content, self._due = content, now + REMARK_S
        if now >= self._due:
            self._due = now + REMARK_S
            done = text.share(content.share) if content.share else text.size(content.read_bytes)
            self._progress(f"reading {Path(content.name).name}", done)


def stderr_console() -> Console:
    """Colours and wrapping in a terminal, plain unwrapped lines elsewhere; respects NO_COLOR."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False, emoji=False)
    return console if console.is_terminal else Console(stderr=True, highlight=False, emoji=False, width=1000, color_system=None)


def print_summary(document: Document, out: Path, console: Console) -> None:
    """At most about fifteen lines: verdict, what makes it doubtful, ledger, the best fixes, where the report lies, what to type next."""
    from rich.text import Text

    width = console.width
    lines = [Text(), *_paragraph(document["verdict"], width, "bold")]
    if sentences.ended_badly(document):
        lines += _paragraph(sentences.ending(document), width, "yellow")
    for note in sentences.cautions(document):
        lines += _paragraph(f"! {_first_sentence(note)}", width, "yellow")
    if planned(document) and is_complete(document):
        lines += _paragraph(f"! {sentences.unpredicted(document)}", width, "yellow") if sentences.unpredicted(document) else []
    lines += [Text(), *_ledger(document)] if document["ledger"] else []
    if not sentences.runs_ahead(document):  # else a caution says so
        lines += _paragraph(sentences.fastest(document), width)
    lines += [Text(), *_fixes(document, width)] if planned(document) else []
    for line in [*lines, Text()]:
        console.print(line)
    for pointer in _pointers(document, out):
        console.print(pointer, soft_wrap=True)  # to be copied, so never broken into lines


def print_verification(document: Document, out: Path, console: Console) -> None:
    """What each fix was measured to gain, and where the report lies."""
    from rich.text import Text

    lines = [Text(), *_paragraph(document["verdict"], console.width, "bold"), Text()]
    for one in verification.all_tried(document["verification"]):
        lines.append(Text(_plain(one["title"]), style=_VERDICT_COLOURS.get(one["verdict"], "")))
        told = [verification.verdict(one), verification.saved(one), f"losses {verification.losses(one)}"]
        parts = [part for part in told if not part.endswith(text.UNKNOWN)]
        lines += _lines(" · ".join(_plain(part) for part in parts), console.width, indent=INDENT)
    lines.append(Text())
    for remark in verification.remarks(document):
        lines += _paragraph(remark, console.width)
    for line in [*lines, Text()]:
        console.print(line)
    for pointer in _pointers(document, out)[:2]:
        console.print(pointer, soft_wrap=True)


def print_headline(document: Document, out: Path, console: Console) -> None:
    """Two lines, for one of many traces: the verdict and where its report lies."""
    from rich.text import Text

    console.print(Text.assemble((text.clean(document["run"]["target"]), "bold"), f": {_plain(document['verdict'])}"), soft_wrap=True)
    console.print(Text(f"  {out / 'report.md'}"), soft_wrap=True)


def _plain(sentence: str) -> str:
    """A sentence of the document without the back-ticks that Markdown needs and without anything a terminal obeys."""
    return text.clean(sentence).replace("`", "")


def _first_sentence(note: str) -> str:
    """The report has the whole of it."""
    return re.split(r"(?<=\.) (?=[A-Z])", note, maxsplit=1)[0]


def _ledger(document: Document) -> list[Text]:
    from rich.text import Text

    rows = sorted(document["ledger"], key=lambda row: -row["share"])
    shown = [(row["title"], row["ms_per_step"], row["share"]) for row in rows[:TOP_ROWS]]
    if rest := rows[TOP_ROWS:]:
        shown.append(("the rest", sum(row["ms_per_step"] for row in rest), sum(row["share"] for row in rest)))
    return [Text(f"{text.clean(title):<22} {text.ms(ms):>11} {text.share(part):>8}  {text.bar(part, 30)}") for title, ms, part in shown]


def _fixes(document: Document, width: int) -> list[Text]:
    from rich.text import Text

    plan = planned(document)
    lines = [line for number, finding in enumerate(plan[:TOP_FIXES], 1) for line in _fix(number, finding, document, width)]
    more = len(plan) - TOP_FIXES
    return lines + ([Text(f"   {more} more in the report")] if more > 0 else [])


def _fix(number: int, finding: Finding, document: Document, width: int) -> list[Text]:
    """What to do and where; below it for how much, and how sure that is."""
    from rich.text import Text

    line = place(finding)
    where = text.clean(text.place(line), text.LONGEST_NAME) if line else ""
    title = Text.assemble(f"{number}. ", (_plain(finding["fix"]["title"]), _COLOURS[finding["severity"]]))
    fits = title.cell_len + len(where) + INDENT <= width
    beside, below = (where, "") if fits else ("", where)
    parts = [_plain(part).replace(" ", _HELD) for part in [below, *_worth(finding, document)] if part]
    return [title.append(f" · {beside}" if beside else ""), *_lines(" · ".join(parts), width, indent=INDENT)]


def _worth(finding: Finding, document: Document) -> list[str]:
    """`saves 3.1–4.8 ms a step, 25–39 %`, `step then 9 ms`, `high confidence, preview rule`."""
    row = document["plan"][planned(document).index(finding)]
    then = sentences.together(row, document)
    with_others = f"with those above {then}" if then and row is not document["plan"][0] else then
    return [sentences.worth(finding, document), with_others, sentences.sureness(finding, document)]


def _paragraph(sentence: str, width: int, style: str = "") -> list[Text]:
    """A sentence as lines of the terminal's width, numbers held to their units."""
    return _lines(re.sub(r"(?<=\d) (?=ms\b|%)", _HELD, _plain(sentence)), width, style)


def _lines(held: str, width: int, style: str = "", *, indent: int = 0) -> list[Text]:
    from rich.text import Text

    lead = " " * indent
    wrapper = textwrap.TextWrapper(max(width, 2), lead, lead, break_long_words=False, break_on_hyphens=False)
    return [Text(line.replace(_HELD, " "), style=style) for line in wrapper.wrap(held)]


def _pointers(document: Document, out: Path) -> list[Text]:
    from rich.text import Text

    lines = [Text(f"Report       {out / 'report.md'}"), Text(f"TensorBoard  tensorboard --logdir {shlex.quote(str(out / 'tb'))}")]
    if any(one["fix"].get("intervention") for one in planned(document)) and recorded_by_us(document) and not document.get("verification"):
        lines.append(Text(f"To measure   python -m diagnose verify {shlex.quote(str(out))}"))
    if planned(document) or not is_complete(document):
        lines.append(Text(f"Then         {text.clean(run_command(document))}"))
    return lines
