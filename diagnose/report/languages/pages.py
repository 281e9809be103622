"""Finished pages in another language: Markdown line by line, HTML text by text.

Code, links, numbers and names stay as they are.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable

from diagnose.report.languages import TAGS, is_english, say
from diagnose.report.languages import spoken as spoken_language

_Say = Callable[[str], str]
_FENCE = "```"
# what stands before a text of Markdown: of a heading, a list, a quotation
_BEFORE = re.compile(r"\s*(?:#{1,6} |[-*] |> )?(?:\d+\. )?")
_RULE = re.compile(r"\|[\s:|-]+\|")  # the line under a table's head
_LABEL = re.compile(r"(\*\*)(.+?)(\*\*)")
_TAG = re.compile(r"(</?(?:details|summary|b)>)")
_HELD = re.compile(r"<https?://[^>]*>|\[[^\]]*\]\([^)]*\)|<code>.*?</code>")
_CODE = re.compile(r"(`[^`]*`)")
_MARK = re.compile(r"<(?! )|\||&(?=[#\w])")  # what reads as HTML or ends a cell
_ASIDE = re.compile(r"(<(script|style|pre|textarea|svg)\b.*?</\2>|<!--.*?-->)", re.DOTALL)
_INLINE = re.compile(r"<code[^>]*>(.*?)</code>", re.DOTALL)
_ANY_TAG = re.compile(r"(<[^>]+>)")
_KEPT = re.compile(r"⟦(\d+)⟧")


def markdown_spoken(page: str, spoken: _Say = say) -> str:
    """A page of Markdown in the language that is spoken."""
    if is_english() and spoken is say:
        return page
    lines, in_code = [], False
    for line in page.split("\n"):
        in_code ^= line.lstrip().startswith(_FENCE)
        lines.append(line if in_code else _line(line, spoken))
    return "\n".join(lines)


def _line(line: str, spoken: _Say) -> str:
    if line.startswith("|"):
        if _RULE.fullmatch(line):
            return line
        cells = re.split(r"(?<!\\)\|", line)[1:-1]
        return f"| {' | '.join(_text(cell.strip(), spoken) for cell in cells)} |"
    before = _BEFORE.match(line)
    start = before.end() if before else 0
    parts = _TAG.split(line[start:])
    return line[:start] + "".join(part if _TAG.fullmatch(part) else _text(part, spoken) for part in parts)


def _text(text: str, spoken: _Say) -> str:
    """A text with what is bold in it, which is a sentence of its own."""
    pieces = _LABEL.split(text)
    return "".join(piece if piece == "**" else _sentence(piece, spoken) for piece in pieces)


def _sentence(text: str, spoken: _Say) -> str:
    """Said as plain text; links and code of HTML are held as they are."""
    held: list[str] = []

    def hold(part: re.Match[str]) -> str:
        held.append(part[0])
        return f"⟦{len(held) - 1}⟧"

    marked = _HELD.sub(hold, text)
    plain = _outside_code(html.unescape, marked)
    told = _around(plain, spoken)
    escaped = marked if told == plain else _outside_code(_escaped, told)
    return _KEPT.sub(lambda mark: held[int(mark[1])], escaped)


def _outside_code(change: _Say, text: str) -> str:
    return "".join(part if index % 2 else change(part) for index, part in enumerate(_CODE.split(text)))


def _escaped(text: str) -> str:
    return _MARK.sub(lambda mark: f"&#{ord(mark[0])};", text)


def _around(text: str, spoken: _Say) -> str:
    """With the spaces at both ends that it had."""
    core = text.strip()
    if not core:
        return text
    start = text.index(core)
    return text[:start] + spoken(core) + text[start + len(core) :]


def html_spoken(page: str, spoken: _Say = say) -> str:
    """A page of HTML in the language that is spoken; scripts, styles, code and drawings stay."""
    if is_english() and spoken is say:
        return page
    parts = _ASIDE.split(page.replace('<html lang="en">', f'<html lang="{TAGS[spoken_language()]}">', 1))
    # each match is followed by the name of its tag, which belongs to no text
    texts = [part for number, part in enumerate(parts) if number % 3 != 2]
    return "".join(part if number % 2 else _html(part, spoken) for number, part in enumerate(texts))


def _html(part: str, spoken: _Say) -> str:
    codes: list[str] = []

    def kept(code: re.Match[str]) -> str:
        codes.append(code[0])
        return f"`{html.unescape(code[1])}`" if "<" not in code[1] and "`" not in code[1] else code[0]

    marked = _INLINE.sub(kept, part)
    whole = {f"`{html.unescape(code)}`": shown for shown in codes if (code := _INLINE.sub(r"\1", shown))}
    return "".join(
        piece if _ANY_TAG.fullmatch(piece) else _told(piece, whole, spoken)
        for piece in _ANY_TAG.split(marked)
    )


def _told(text: str, codes: dict[str, str], spoken: _Say) -> str:
    """Between two tags: said as plain text, with its code as tags again."""
    if not text.strip():
        return text
    plain = html.unescape(text)
    told = _around(plain, spoken)
    escaped = text if told == plain else html.escape(told, quote=False)
    for code, shown in codes.items():
        escaped = escaped.replace(html.escape(code, quote=False), shown).replace(code, shown)
    return escaped
