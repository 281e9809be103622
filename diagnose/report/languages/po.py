"""Reads the catalogues: gettext's `.po` files, as editors for translators write them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

_LINE = re.compile(r'(?:(msgid|msgstr)\s+)?(".*")')


def entries(path: Path) -> dict[str, str]:
    """The translations by the English texts; those without a translation, and the head, are left out."""
    found: list[dict[str, str]] = []
    key = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if not (parts := _LINE.fullmatch(line.strip())):
            continue
        if parts[1] == "msgid":
            found.append({"msgid": "", "msgstr": ""})
        key = parts[1] or key
        found[-1][key] += ast.literal_eval(parts[2])
    return {one["msgid"]: one["msgstr"] for one in found if one["msgid"] and one["msgstr"]}


def entry(english: str, translation: str) -> str:
    """The lines of one text."""
    return f"msgid {_quoted(english)}\nmsgstr {_quoted(translation)}\n"


def _quoted(text: str) -> str:
    for mark, written in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
        text = text.replace(mark, written)
    return f'"{text}"'
