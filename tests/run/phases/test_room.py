"""Recordings that would take the memory that a script needs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from diagnose.document.headline import headline_of
from diagnose.pipeline import analyse
from diagnose.run.child.phases import room
from diagnose.run.child.phases.room import Room
from diagnose.run.child.writing import GIVEN_UP

from ..running import Recorded


def test_an_eighth_of_what_is_available_may_be_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """At its end a recording takes four times as much, which is a half."""
    resident = [1_000]
    monkeypatch.setattr(room, "resident_bytes", lambda: resident[0])
    monkeypatch.setattr(room, "available_bytes", lambda: 800)
    looked = Room()
    assert not any(looked.is_short() for _ in range(100))  # nothing is recorded yet
    looked.begin()
    resident[0] = 1_100
    assert not any(looked.is_short() for _ in range(100))
    resident[0] = 1_101
    assert any(looked.is_short() for _ in range(100))


def test_memory_of_this_process() -> None:
    assert 10 << 20 < room.resident_bytes() < 1 << 40
    assert room.available_bytes() > 10 << 20


def test_a_recording_that_would_take_too_much_is_given_up(run_script: Callable[..., Recorded]) -> None:
    """What was recorded while the script warmed up remains, and the script goes on."""
    run = run_script("little_room", "8", steps=None, keep_going=True)
    assert run.outcome.exit_code == 0 and "steps: 40" in run.stdout
    assert run.steps_in("timeline") == 2
    assert [note for note in run.steps["notes"] if GIVEN_UP in note]


@pytest.mark.long
def test_the_first_recording_may_be_given_up(run_script: Callable[..., Recorded]) -> None:
    run = run_script("little_room", "0", steps=None, keep_going=True)
    assert run.outcome.exit_code == 0 and "steps: 40" in run.stdout
    assert run.steps["notes"] == [f"The timeline {GIVEN_UP}"] and run.steps_in("timeline") == 0
    document = analyse(run.folder)
    assert document.badge == "little memory"
    assert headline_of(document) == "Recording one step would have taken too much memory"
