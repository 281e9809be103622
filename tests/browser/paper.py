"""The words of a PDF that Chromium printed."""

from __future__ import annotations

import re
import unicodedata
import zlib

_OBJECT = re.compile(rb"\n(\d+) 0 obj\n(.*?)\nendobj", re.DOTALL)
_STREAM = re.compile(rb"stream\n(.*)\nendstream", re.DOTALL)
_SHOWN = re.compile(rb"/(F\d+) [\d.]+ Tf|<([0-9A-F]+)> Tj")


def pages(pdf: bytes) -> list[str]:
    """What each page says, letter after letter, without spaces."""
    objects = {int(number): body for number, body in _OBJECT.findall(b"\n" + pdf)}
    letters = {number: _letters(objects, body) for number, body in objects.items() if b"/ToUnicode" in body}
    return [_said(objects, letters, body) for body in objects.values() if re.search(rb"/Type /Page\b", body)]


def _said(objects: dict[int, bytes], letters: dict[int, dict[str, str]], page: bytes) -> str:
    fonts = {
        name: int(number)
        for group in re.findall(rb"/Font <<(.*?)>>", page, re.DOTALL)
        for name, number in re.findall(rb"/(F\d+) (\d+) 0 R", group)
    }
    said, font = [], dict[str, str]()
    for name, glyphs in _SHOWN.findall(_content(objects, page, b"Contents")):
        if name:
            font = letters.get(fonts[name], {})
        text = glyphs.decode()
        said += [font.get(text[at : at + 4], "") for at in range(0, len(text), 4)]
    return re.sub(r"\s", "", unicodedata.normalize("NFKC", "".join(said)))  # without ligatures


def _letters(objects: dict[int, bytes], font: bytes) -> dict[str, str]:
    """Letters by glyph, as the font's own table says."""
    table, known = _content(objects, font, b"ToUnicode").decode("latin-1"), {}
    for block in re.findall(r"beginbfchar\n(.*?)endbfchar", table, re.DOTALL):
        known |= {glyph: _text(letter) for glyph, letter in re.findall(r"<(\w+)> <(\w+)>", block)}
    for block in re.findall(r"beginbfrange\n(.*?)endbfrange", table, re.DOTALL):
        for first, last, letter in re.findall(r"<(\w+)> <(\w+)> <(\w+)>", block):
            known |= {
                f"{int(first, 16) + by:04X}": chr(int(letter, 16) + by)
                for by in range(int(last, 16) - int(first, 16) + 1)
            }
    return known


def _text(letter: str) -> str:
    return bytes.fromhex(letter).decode("utf-16-be")


def _content(objects: dict[int, bytes], body: bytes, key: bytes) -> bytes:
    found = re.search(rb"/%s (\d+) 0 R" % key, body)
    stream = _STREAM.search(objects[int(found[1])]) if found else None
    return zlib.decompress(stream[1]) if stream else b""
