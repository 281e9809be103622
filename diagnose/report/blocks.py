"""Building blocks of the Markdown report.

Cells are Markdown already: escape foreign text with `code` or `prose` first.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from diagnose.document.text import clean, prose


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = ()) -> str:
    """A pipe table; `right` are the headers of the columns that hold numbers. Empty without rows."""
    body = [[_unbroken(cell) for cell in row] for row in rows]
    if not body:
        return ""
    from tabulate import tabulate

    aligned = ["right" if header in right else "left" for header in headers]
    return tabulate(body, list(headers), tablefmt="pipe", disable_numparse=True, colalign=aligned)


def unpadded_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A pipe table for pages under version control: a longer cell changes no other line."""
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _unbroken(cell: str) -> str:
    """The cell with its numbers held to their units: narrow columns would part them.

    Cells with code stay as they are, to be copied.
    """
    return (
        cell if "`" in cell or "<code>" in cell else re.sub(r"(?<=\d) (?=ms|%)", "\N{NO-BREAK SPACE}", cell)
    )


def section(title: str, *blocks: str) -> str:
    """A second-level section; empty if all its blocks are."""
    filled = [block for block in blocks if block]
    return "\n\n".join([f"## {title}", *filled]) if filled else ""


def folded(title: str, *blocks: str, holds: str, collapsible: bool) -> str:
    """A section that GitHub shows closed, with what it ``holds``. TensorBoard strips the tags, so there it
    is an ordinary section.

    ``title``, ``holds``: plain text.
    """
    filled = [block for block in blocks if block]
    if not filled or not collapsible:
        return section(prose(title), *filled)
    summary = f"<summary><b>{html.escape(clean(title))}</b>: {html.escape(clean(holds))}</summary>"
    return "\n\n".join([f"<details>\n{summary}", *filled, "</details>"])


def bullets(sentences: Iterable[str]) -> str:
    """A list of plain sentences."""
    return "\n".join(f"- {prose(sentence)}" for sentence in sentences)


def shell(command: str) -> str:
    """A command to copy; empty if there is none."""
    return fenced("sh", command) if command else ""


def before_after(before: str, after: str) -> str:
    """The same lines of Python without and with a remedy; empty if there are none."""
    return fenced("python", f"# before\n{before}\n\n# after\n{after}") if before else ""


def fenced(language: str, code: str) -> str:
    """A block of code. It may hold anything the user typed, so the fence is
    longer than any run of back-ticks in it.
    """
    fence = "```"
    while fence in code:
        fence += "`"
    return f"{fence}{language}\n{code}\n{fence}"
