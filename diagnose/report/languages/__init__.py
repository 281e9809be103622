"""The languages that reports are read in.

Every text is made in English. Where it is shown, a catalogue says it in the language that is spoken. A text
that the catalogue does not know stays English. report.json is always English: programs read it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

ENGLISH = "en"
TAGS = {ENGLISH: "en", "zh": "zh-CN"}  # as HTML names them
LANGUAGES = tuple(TAGS)

_spoken = [ENGLISH]


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Meanwhile whatever is shown is in this language."""
    _spoken.append(language)
    try:
        yield
    finally:
        _spoken.pop()


def spoken() -> str:
    """The language of what is shown now."""
    return _spoken[-1]


def is_english() -> bool:
    return spoken() == ENGLISH


def say(text: str) -> str:
    """A text in the language that is spoken."""
    if is_english():
        return text
    from diagnose.report.languages.catalogue import catalogue

    return catalogue(spoken()).translated(text)
