"""Of every recording and every trace that others made: a headline of few words, and a doubt of few sentences."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from diagnose.document.headline import MOST_WORDS
from diagnose.errors import TraceUnreadable
from diagnose.pipeline import analyse

ROOT = Path(__file__).parents[1]
RUNS = sorted(path.parent for path in (ROOT / "sample_traces").glob("*/*/run.json"))
TRACES = sorted(
    path
    for folder in ("traces", "more_traces")
    for path in (ROOT.parent / "shared" / folder).glob("*.json.gz")
)


@pytest.mark.parametrize("source", [*RUNS, *TRACES], ids=lambda path: f"{path.parent.name}-{path.name}")
def test_the_headline_is_short_and_the_doubt_stands_beside_it(source: Path) -> None:
    try:
        document = analyse(source)
    except TraceUnreadable:
        pytest.skip("cannot be read")
    assert 0 < len(document.headline.split()) <= MOST_WORDS == 15
    assert not re.search("as measured|no rule fires|trusted", document.headline, re.IGNORECASE)
    assert len(document.badge.split()) <= 3
    assert len(re.findall(r"[.!?](?=\s|$)", document.doubt)) <= 2
    assert bool(document.badge) == bool(document.doubt)
    if document.badge and not document.plan:
        assert "nothing worth fixing" not in document.headline
