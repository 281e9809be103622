"""Text that others wrote, made fit to be shown anywhere: names in traces are hostile."""

from __future__ import annotations

import unicodedata

LONGEST = 2000  # characters


def clean(text: str, longest: int = LONGEST) -> str:
    """One line without control, invisible or direction-changing characters, cut to `longest`."""
    text = text[: 4 * longest]
    line = " ".join((text if text.isprintable() else "".join(map(_visible, text))).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def _visible(letter: str) -> str:
    if letter.isspace():
        return " "
    return (
        "\N{REPLACEMENT CHARACTER}"
        if unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Co", "Cn")
        else letter
    )
