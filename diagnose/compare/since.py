"""What a recording in the midst of a run tells against the run's begin."""

from __future__ import annotations

from diagnose.compare.comparison import compare
from diagnose.document.model import Document
from diagnose.document.text import ms

ROWS, LINES = 3, 2  # told at most


def changed_since(begin: Document, now: Document) -> list[str]:
    """`Input wait 0.10 → 3.2 ms`: rows of the ledger and lines, beyond noise, those that changed most first;
    empty where the two cannot be compared.
    """
    found = compare(begin, now)
    rows = sorted((row for row in found.ledger if row.beyond_noise), key=lambda row: -abs(row.change_ms))
    told = [f"{row.title} {_from_to(row.a_ms, row.b_ms)}" for row in rows[:ROWS]]
    for line in found.lines[:LINES]:
        spot = line.b or line.a
        if spot is not None:
            file, number = spot.where
            told.append(f"`{file}:{number}` {_from_to(line.a_ms, line.b_ms)}")
    return told


def _from_to(a_ms: float, b_ms: float) -> str:
    return f"{ms(a_ms)} → {ms(b_ms)}"
