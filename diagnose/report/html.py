"""Foreign text as HTML. All that reaches a template as markup is made here or by jinja2's own escaping."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from diagnose.document.text import LONGEST_NAME, clean
from diagnose.trace.cleaning import LONGEST as LONGEST_PROSE

if TYPE_CHECKING:
    from markupsafe import Markup

_ROW = re.compile(r"[a-z_]{1,40}")


def trusted(markup: str) -> Markup:
    """Markup of ours, not to be escaped again."""
    from markupsafe import Markup

    return Markup(markup)


def prose(sentence: str, longest: int = LONGEST_PROSE) -> Markup:
    """A sentence; `back-ticked` parts become code, an unpaired back-tick stays what it is."""
    parts = clean(sentence, longest).split("`")
    if len(parts) % 2 == 0:
        parts[-2:] = ["`".join(parts[-2:])]
    return trusted(
        "".join(
            code(part, LONGEST_PROSE) if index % 2 else _escaped(_held(part))
            for index, part in enumerate(parts)
        )
    )


def code(name: str, longest: int = LONGEST_NAME) -> Markup:
    """A name or a line of source; nothing of nothing."""
    shown = clean(name, longest)
    return trusted(f"<code>{_escaped(shown)}</code>" if shown else "")


def block(lines: str) -> Markup:
    """Several lines for a `<pre>`, each without what would hide or reorder its letters; indentation stays."""
    shown = (line[: len(line) - len(line.lstrip(" "))] + clean(line) for line in lines.splitlines())
    return trusted(_escaped("\n".join(shown)))


def held(quantity: str) -> Markup:
    """A quantity with its unit held to it."""
    return trusted(_escaped(_held(clean(quantity))))


def reference(address: str) -> Markup:
    """A link where it is one to the web, else a sentence."""
    if not re.fullmatch(r"https?://[^\s<>\"'`]+", address):
        return prose(address)
    shown = _escaped(clean(re.sub(r"^https?://(www\.)?", "", address).rstrip("/"), LONGEST_NAME))
    return trusted(f'<a href="{_escaped(address)}" rel="noopener noreferrer">{shown}</a>')


def row_class(row: str) -> str:
    """The class that gives a row of the ledger its colour."""
    return f"row row-{row}" if _ROW.fullmatch(row) else "row"


def _held(sentence: str) -> str:
    return re.sub(r"(?<=\d) (?=(?:ms|%|×|[KMGT]iB)(?!\w))", "\N{NO-BREAK SPACE}", sentence)


def _escaped(shown: str) -> str:
    return html.escape(shown)
