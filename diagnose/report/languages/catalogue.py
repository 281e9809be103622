"""Finished English texts in another language.

The catalogue holds texts and templates: `saves {span} a step`. A finished text is looked up; else the
template with the most letters that fits it gives its translation, and its values are translated likewise.
Several sentences are taken apart, and so is what `glue` joins: `{one}; {other}`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from diagnose.report.languages.po import entries

HERE = Path(__file__).parent
SCRIPT_FILE = "script.po"  # of fragments of JavaScript
FIELD = re.compile(r"\{(\w+)\}")
CODE = re.compile(r"`[^`]*`|⟦\d+⟧")
LEAST_LETTERS = 4  # of a template; what has fewer is glue
_SENTENCE_END = re.compile(r"(?<=[.!?:]) +(?=[^\sa-z(&=·–<>≥≤+×→])")
_BORDER = re.compile(r"(?<=[A-Za-z0-9%])(?=[\u4e00-\u9fff])")  # between letters and Chinese
_WORD = re.compile(r"[A-Za-z]{2,}")
_UNITS = {"ms", "us", "bytes", "KiB", "MiB", "GiB", "TiB", "FLOP", "Gbit", "GB", "MB", "kB", "TFLOP", "GFLOP"}
_VALUE = r"((?:(?![.!?] [A-Z`]).)+?)"  # never more than a sentence
_STOPS = {".": "。", ":": "：", ";": "；", ",": "，"}


class Template(NamedTuple):
    """A text with gaps."""

    pattern: re.Pattern[str]
    names: list[str]
    longest: str  # of its fixed parts: where it lacks, the pattern need not be tried
    translation: str
    letters: int


class Glue(NamedTuple):
    """What stands between two texts, and what does in the other language."""

    mark: str
    translation: str


class Catalogue:
    """All texts of one language, as `.po` files hold them."""

    def __init__(self, texts: dict[str, str]) -> None:
        self._texts = {_key(_literal(text)): _literal(told) for text, told in texts.items()}
        made = [_template(text, told) for text, told in texts.items() if FIELD.search(text)]
        self._templates = sorted(
            (one for one in made if one.letters >= LEAST_LETTERS), key=lambda one: -one.letters
        )
        self._glue = [
            Glue(*(FIELD.sub("", one) for one in (text, told)))
            for text, told in texts.items()
            if re.fullmatch(r"\{\w+\}[^{]+\{\w+\}", text) and _template(text, told).letters < LEAST_LETTERS
        ]
        self._known = functools.lru_cache(maxsize=20_000)(self._looked_up)

    def translated(self, text: str) -> str:
        """The text in this language; in English where it is not known."""
        known = self._known(" ".join(text.split()))
        return text if known is None else _BORDER.sub(" ", known)

    def knows(self, text: str) -> bool:
        """Whether there is nothing to translate, or all of it is."""
        return self._known(" ".join(text.split())) is not None and not self.left(text)

    def left(self, text: str) -> list[str]:
        """The sentences of a text that stay English."""
        whole = " ".join(text.split())
        if self._one(whole) is not None or self._joined(whole) is not None:
            return []
        return [one for one in self._pieces(whole) if self._one(one) is None and self._joined(one) is None]

    def _looked_up(self, text: str) -> str | None:
        if not has_words(text):
            return text
        whole = self._one(text)
        if whole is not None:
            return whole
        pieces = self._pieces(text)
        if len(pieces) == 1:
            return self._joined(text)
        told = [self._known(piece) for piece in pieces]
        if all(one is None for one in told):
            return self._joined(text)
        return _put_together([one or piece for one, piece in zip(told, pieces, strict=True)])

    def _pieces(self, text: str) -> list[str]:
        """Sentences; several stay together where they are known as one text."""
        sentences, pieces = _SENTENCE_END.split(text), []
        while sentences:
            number = next(
                (
                    count
                    for count in range(len(sentences), 1, -1)
                    if self._one(" ".join(sentences[:count])) is not None
                ),
                1,
            )
            pieces.append(" ".join(sentences[:number]))
            sentences = sentences[number:]
        return pieces

    def _one(self, text: str) -> str | None:
        """A text that is known as a whole, with or without a mark at its end."""
        if not has_words(text):
            return text
        for form, stop in ((text, ""), (text[:-1], _STOPS.get(text[-1:], ""))):
            if form is text or stop:
                told = self._texts.get(_key(form)) or self._filled(form)
                if told is not None:
                    return told.rstrip("".join(_STOPS.values())) + stop if stop else told
        return self._texts.get(_key(f"{text}.")) or self._filled(f"{text}.")

    def _filled(self, text: str) -> str | None:
        """By the template with the most letters of its own."""
        for one in self._templates:
            if one.longest in text and (fits := one.pattern.fullmatch(text)):
                values = dict(zip(one.names, fits.groups(), strict=True))
                return FIELD.sub(lambda found: self._value(values[found[1]]), one.translation)  # noqa: B023
        return None

    def _value(self, value: str) -> str:
        known = self._known(value)
        return value if known is None else known

    def _joined(self, text: str) -> str | None:
        """What glue joins, if both its sides are known."""
        for mark, told in self._glue:
            start = text.find(mark, 1)
            while start > 0:
                sides = [self._known(text[:start]), self._known(text[start + len(mark) :])]
                if all(side is not None for side in sides):
                    return told.join(side or "" for side in sides)
                start = text.find(mark, start + 1)
        return None


@functools.cache
def catalogue(language: str) -> Catalogue:
    """All that is known of a language. Its files are read once."""
    texts: dict[str, str] = {}
    for path in files(language):
        texts |= entries(path)
    return Catalogue(texts)


def files(language: str) -> Iterable[Path]:
    """The catalogues of a language, but for the JavaScript's."""
    return (path for path in sorted((HERE / language).glob("*.po")) if path.name != SCRIPT_FILE)


def has_words(text: str) -> bool:
    """Whether anything is to be translated: not in numbers, units and code."""
    return any(word not in _UNITS for word in _WORD.findall(CODE.sub("", text)))


def _key(text: str) -> str:
    return text[:1].lower() + text[1:]


def _literal(text: str) -> str:
    return text.replace("{{", "{").replace("}}", "}")


def _template(text: str, translation: str) -> Template:
    parts = FIELD.split(text)
    fixed, names = [_literal(part) for part in parts[::2]], parts[1::2]
    unique, pattern = [f"{name}" for name in names], ""
    for index, part in enumerate(fixed):
        first, rest = (part[:1], part[1:]) if index == 0 and part[:1].isalpha() else ("", part)
        pattern += (f"[{first.lower()}{first.upper()}]" if first else "") + re.escape(rest)
        if index < len(names):
            earlier = unique.index(names[index])
            pattern += _VALUE if earlier == index else f"\\{earlier + 1}"
    fields = list(dict.fromkeys(names))
    longest = max((part[1:] if index == 0 else part for index, part in enumerate(fixed)), key=len)
    letters = sum(letter.isalpha() for part in fixed for letter in part)
    return Template(re.compile(pattern), fields, longest, _literal(translation), letters)


def _put_together(sentences: list[str]) -> str:
    """Chinese marks hold their own space."""
    text = ""
    for sentence in sentences:
        text += sentence if not text or text[-1] in "。：；！？" else f" {sentence}"
    return text
