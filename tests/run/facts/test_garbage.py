"""Collections of the garbage collector, counted in this process."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from diagnose.run.child.facts import garbage
from diagnose.run.child.places import Places


def test_short_collections_that_a_line_calls_count_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frozen objects are not looked at, so a collection may take less than any pause worth a row."""
    monkeypatch.setattr(garbage, "_TOLD_NS", 10**12)
    collections = garbage.Garbage(Places(str(Path(__file__).parent), str(Path.cwd())))
    gc.disable()
    collections.begin()
    for _step in range(3):
        gc.collect()
    collections.stop()
    gc.enable()
    facts = collections.facts(3)["gc"]
    assert facts["pauses"] == []
    assert facts["collections_per_step"] == [0, 0, 1]
    (called,) = facts["called"]
    assert (called["file"], called["count"]) == (__file__, 3)
    assert called["ms_per_step"] == pytest.approx(facts["ms_per_step"])
