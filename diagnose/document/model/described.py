"""What all parts of the document are made with."""

from __future__ import annotations

from typing import Literal

from msgspec import Meta

Scalar = bool | int | float | str | None
Verdict = Literal[
    "faster",
    "slower",
    "no_change",
    "no_such_gain",
    "less_work",
    "too_noisy",
    "changes_result",
    "not_held",
    "failed",
]


def described(text: str) -> Meta:
    """What a key holds, for docs/report.schema.json."""
    return Meta(description=text)
