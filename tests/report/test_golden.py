"""report.md word for word.

After a change that is meant, `python -m tests.report.test_golden` writes the pages anew: read the diff.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from diagnose.report.markdown import markdown

from . import documents
from .documents import Document

FOLDER = Path(__file__).parent / "golden"


def hostile() -> Document:
    """All hostile names that fit a line, in one document."""
    return documents.hostile(" ".join(name for name in documents.HOSTILE_NAMES if len(name) < 100))


def page(document: Callable[[], Document]) -> bytes:
    return markdown(document()).encode("utf-8", "replace")


@pytest.mark.parametrize("document", [*documents.MAKERS, hostile], ids=lambda document: document.__name__)
def test_the_report_reads(document) -> None:
    assert page(document) == (FOLDER / f"{document.__name__}.md").read_bytes()


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for document in [*documents.MAKERS, hostile]:
        (FOLDER / f"{document.__name__}.md").write_bytes(page(document))
