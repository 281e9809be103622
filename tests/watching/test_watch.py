"""Steps watched in a process of ours."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset, dataloader

from diagnose.run.child.places import Places
from diagnose.run.child.watching import watch as module
from diagnose.run.child.watching.changes import Change
from diagnose.run.child.watching.watch import Watch
from diagnose.watched.levels import Level, causes, levels
from diagnose.watched.log import WatchLog, read_log

HERE = str(Path(__file__).parent)


def usual() -> None:
    time.sleep(0.002)


def gets_slower() -> None:
    time.sleep(0.004)


class Watching:
    """A watch whose windows last a twentieth of a second."""

    def __init__(self, folder: Path, period: int = 1) -> None:
        self.told: list[str] = []
        self.slower: list[Change] = []
        self._folder = folder
        self.watch = Watch(str(folder), Places(HERE, HERE), period, 0, self.told.append, self.slower.append)
        self.watch._file.length_s = 0.05

    def run(self, seconds: float, *parts: Callable[[], object]) -> int:
        """Steps of these parts; how many there were."""
        end, steps = time.perf_counter() + seconds, 0
        while time.perf_counter() < end:
            for part in parts:
                part()
            self.watch.tick(time.perf_counter_ns())
            steps += 1
        return steps

    def log(self) -> WatchLog:
        self.watch.end()
        log = read_log(self._folder, 0)
        assert log is not None
        return log


@pytest.fixture
def watching(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Watching:
    monkeypatch.setattr(module, "_LOOKS_EVERY_S", 0.004)
    return Watching(tmp_path)


def test_steps_that_become_slower_are_noticed_with_their_line(watching: Watching) -> None:
    watching.watch.begin()
    watching.run(2.0, usual)
    watching.run(2.0, usual, gets_slower)
    log = watching.log()
    assert watching.slower
    before, after = levels(log)[0], levels(log)[-1]
    assert 2 < after.mean_ms / before.mean_ms < 5
    (*_, cause) = causes(before, after, log)
    assert cause.line is not None
    assert cause.line.function in ("gets_slower", "run")
    assert cause.line.line in (
        gets_slower.__code__.co_firstlineno + 1,
        Watching.run.__code__.co_firstlineno + 5,
    )


def test_every_step_is_in_a_window(watching: Watching) -> None:
    threads = threading.active_count()
    watching.watch.begin()
    steps = watching.run(0.5, usual)
    assert threading.active_count() == threads
    log = watching.log()
    assert log.steps == steps
    assert all(later.first == earlier.first + earlier.steps for earlier, later in pairwise(log.windows))
    assert 0.4 < log.seconds < 1.0
    assert all(window.rss_bytes > 10_000_000 and window.threads >= 1 for window in log.windows)
    assert watching.told[0].startswith("step ")


def test_in_words(tmp_path: Path) -> None:
    watching = Watching(tmp_path)
    for epoch in range(2):
        for number, _ in enumerate(DataLoader(TensorDataset(torch.zeros(1000, 1)), batch_size=4)):
            if not epoch + number:
                watching.watch.begin()
            usual()
            watching.watch.tick(time.perf_counter_ns())
    watching.watch.end()
    step, pace, samples, *_, left = watching.told[-2].split(", ")
    assert step.startswith("step ") and pace.endswith(" ms a step") and samples.endswith(" samples/s")
    assert left.startswith("about ") and left.endswith(" s left")
    ms, rate = float(pace.split()[0]), float(samples.split()[0].replace(",", ""))
    assert rate == pytest.approx(4 * 1000 / ms, rel=0.25)  # a window and its samples end not quite together


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(41.4, "41 s"), (170, "3 min"), (3590, "1 h 0 min"), (7500, "2 h 5 min"), (266_400, "3 d 2 h")],
)
def test_durations(seconds: float, words: str) -> None:
    assert module._duration(seconds) == words


def test_a_step_is_as_many_ticks_as_it_was(tmp_path: Path) -> None:
    watching = Watching(tmp_path, period=2)
    watching.watch.begin()
    ticks = watching.run(0.3, usual)
    assert watching.log().steps == ticks // 2


def test_waits_for_batches_and_garbage_are_counted(watching: Watching) -> None:
    class Slow(TensorDataset):
        def __getitem__(self, index: int) -> object:
            time.sleep(0.002)
            return super().__getitem__(index)

    before = dataloader._BaseDataLoaderIter.__next__
    watching.watch.begin()
    for _ in DataLoader(Slow(torch.zeros(100, 1)), batch_size=1):
        gc.collect(0)  # all of them take half a second among the objects of a long test run
        watching.watch.tick(time.perf_counter_ns())
    log = watching.log()
    assert dataloader._BaseDataLoaderIter.__next__ is before
    whole_ms = 1000 * log.seconds / log.steps
    level = Level(log.windows)
    assert 2.0 <= (level.average("input_ms") or 0) < whole_ms
    assert 0 < (level.average("gc_ms") or 0) < whole_ms


def test_a_recording_in_between_is_in_no_window(watching: Watching) -> None:
    watching.watch.begin()
    steps = watching.run(0.3, usual)
    watching.watch.pause("asked for", 1)
    watching.run(0.3, usual)
    watching.watch.resume()
    steps += watching.run(0.3, usual)
    log = watching.log()
    assert log.steps == steps
    assert 0.5 < log.seconds < 0.9
    assert [(snap.number, snap.reason) for snap in log.snaps] == [(1, "asked for")]


def test_what_fails_beside_is_a_note_and_the_steps_go_on(
    watching: Watching, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching.watch.begin()
    monkeypatch.setattr(module, "stack_now", lambda thread, places: 1 / 0)
    assert watching.run(0.2, usual) > 10
    watching.watch.end()
    watching.watch.end()
