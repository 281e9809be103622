"""Texts in a terminal's cells: a Chinese character takes two, and lines break between any of them."""

from __future__ import annotations

import re
import textwrap
import unicodedata

_UNITS = re.compile(r"\s+|[\u2e80-\u9fff\uff00-\uffef][，。；：、！？）”]*|[^\s\u2e80-\u9fff\uff00-\uffef]+")


def cells(text: str) -> int:
    """How many cells of a terminal the text takes."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def padded(text: str, width: int) -> str:
    """The text, filled up with spaces to this many cells."""
    return text + " " * max(0, width - cells(text))


def wrapped(text: str, width: int) -> list[str]:
    """Lines of at most this many cells, but for words that are longer; between words of letters, or before
    any Chinese character.
    """
    if cells(text) == len(text):
        return textwrap.TextWrapper(width, break_on_hyphens=False).wrap(text)
    lines = [""]
    for unit in _UNITS.findall(text):
        if lines[-1].strip() and cells(lines[-1] + unit.rstrip()) > width:
            lines.append("")
        lines[-1] += unit if lines[-1] or not unit.isspace() else ""
    return [line.rstrip() for line in lines]
