"""One file's change as a unified diff that `git apply` and `patch -p1` take."""

from __future__ import annotations

import difflib
import os
import re

NO_NEWLINE = "\n\\ No newline at end of file\n"
ESCAPES = {"\n": "\\n", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


def file_diff(name: str, before: bytes, after: bytes) -> str:
    """The diff; bytes that are not UTF-8 are surrogates in it (`as_bytes`).

    There is no `diff --git` line on purpose: with one, git takes the name as relative to the
    repository, without as to the current folder.
    """
    old, new = _lines(before), _lines(after)
    written = difflib.unified_diff(old, new, _header(f"a/{name}"), _header(f"b/{name}"))
    return "".join(line if line.endswith("\n") else line + NO_NEWLINE for line in written)


def as_bytes(diff: str) -> bytes:
    """A diff as it goes into a file: every byte of the user's files as it was, whatever their encoding."""
    return diff.encode("utf-8", "surrogateescape")


def _lines(content: bytes) -> list[str]:
    """Only line feeds end the lines of a diff; a carriage return before one is part of the line."""
    return re.findall(r"[^\n]*\n|[^\n]+", content.decode("utf-8", "surrogateescape"))


def _header(name: str) -> str:
    """The name as git writes it: quoted in the manner of C if it has unusual
    bytes, ended by a tab if it has spaces.
    """
    if name.isascii() and name.isprintable() and not set(name) & set('"\\'):
        return f"{name}\t" if " " in name else name
    return f'"{"".join(map(_escaped, os.fsencode(name)))}"'


def _escaped(byte: int) -> str:
    letter = chr(byte)
    plain = letter.isascii() and letter.isprintable()
    return ESCAPES.get(letter) or (letter if plain else f"\\{byte:03o}")
