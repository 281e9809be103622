"""What is watched while plain steps are timed."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from diagnose.run.child.memory.memory import Memory
from diagnose.run.child.phases.plain_phase import PlainPhase
from diagnose.run.child.places import Places
from diagnose.run.child.steps.clock import ENGINE


def test_collections_that_ours_cause_are_not_the_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("begin", "stop"):
        original = getattr(Memory, name)

        def collects(memory: Memory, original: Any = original) -> None:
            gc.collect()
            original(memory)

        monkeypatch.setattr(Memory, name, collects)
    phase = PlainPhase(lambda kind: ENGINE, Places("", ""))
    phase.begin()
    phase.end(1)
    assert phase.facts["gc"]["collections_per_step"][2] == 0
