"""Recordings in the midst of a watched run."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, cast

import pytest

from diagnose.run.child import guard
from diagnose.run.child.places import Places
from diagnose.run.child.shared_state import SharedState
from diagnose.run.child.watching.changes import Change
from diagnose.run.child.watching.watched_run import SNAPS_AT_MOST, WatchedRun
from diagnose.watched.log import read_log


class Snap:
    """A recording of three steps; ``fails`` at what it is told to fail."""

    def __init__(self, number: int, fails: str) -> None:
        self.number, self.fails, self.ticks, self.ended = number, fails, 0, False

    def begin(self) -> None:
        if self.fails == "begin":
            raise OSError("no room")

    def tick(self, source: object) -> None:
        self.ticks += 1

    @property
    def done(self) -> bool:
        return self.ticks == 3

    def end(self) -> None:
        self.ended = True
        if self.fails == "end":
            raise OSError("no room")

    def optimizer_stepped(self) -> None: ...


class Run:
    def __init__(self, folder: Path, fails: str = "") -> None:
        self.shared = SharedState(str(folder))
        self.snaps: list[Snap] = []
        self.folder = folder

        def new_snap(number: int) -> Any:
            if fails == "new":
                raise OSError("no room")
            self.snaps.append(Snap(number, fails))
            return self.snaps[-1]

        here = str(Path(__file__).parent)
        self.run = WatchedRun(
            str(folder),
            cast(Any, new_snap),
            places=Places(here, here),
            shared=self.shared,
            leads=True,
            period=1,
            ticks=0,
        )
        self.run._watch._file.length_s = 0.02
        self.run.begin()

    def steps(self, count: int) -> None:
        for _ in range(count):
            time.sleep(0.005)
            self.run.tick(time.perf_counter_ns(), "step")

    def until(self, snaps: int) -> None:
        for _ in range(200):
            if len(self.snaps) >= snaps:
                return
            self.steps(1)


def test_a_wish_is_recorded_once_and_its_steps_are_in_no_window(tmp_path: Path) -> None:
    made = Run(tmp_path)
    made.steps(10)
    made.shared.ask_for_snap()
    made.until(1)
    made.steps(50)
    made.run.end()
    (snap,) = made.snaps
    assert (snap.number, snap.ticks, snap.ended) == (1, 3, True)
    log = read_log(tmp_path, 0)
    assert log is not None
    assert [one.reason for one in log.snaps] == ["asked for"]
    last = log.windows[-1]
    assert last.first + last.steps == log.steps + 3


@pytest.mark.parametrize("fails", ["new", "begin", "end"])
def test_a_recording_that_fails_does_not_end_the_watch(
    tmp_path: Path, fails: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "_failures", {})
    made = Run(tmp_path, fails)
    made.steps(10)
    made.shared.ask_for_snap()
    made.steps(60)
    made.run.end()
    assert guard.notes()
    log = read_log(tmp_path, 0)
    assert log is not None
    assert log.steps > 40


def test_slower_steps_are_recorded_some_times_and_told_at_once(tmp_path: Path) -> None:
    made = Run(tmp_path)
    for number in range(SNAPS_AT_MOST + 2):
        made.run._slower(Change({"first": 100 * number}, 10.0, 13.0))
        made.until(number + 1) if number < SNAPS_AT_MOST else None
        made.steps(5)
    assert len(made.snaps) == SNAPS_AT_MOST
    assert made.shared.alerts == SNAPS_AT_MOST + 2
    made.run.end()
    log = read_log(tmp_path, 0)
    assert log is not None
    assert log.snaps[0].reason == "steps take 30 % longer since step 0"
