"""Which lines of the script run in the plain phase, looked at from beside."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
import weakref
from pathlib import Path

import pytest
import torch
from torch import nn

from diagnose.run.child import guard
from diagnose.run.child.lines import line_samples
from diagnose.run.child.lines.line_samples import LineSamples
from diagnose.run.child.places import Places


def _work(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        time.sleep(0.001)


def test_the_lines_that_run_are_seen_and_what_they_call() -> None:
    here = str(Path(__file__).parent)
    samples, threads = LineSamples(Places(here, here)), threading.active_count()
    samples.begin()
    _work(0.1)
    assert threading.active_count() == threads  # a script that counts its threads sees none of ours
    samples.stop()
    told = samples.facts(1)["line_samples"]
    assert len(told["ns"]) == len(told["stack"]) > 3
    assert told["ns"] == sorted(told["ns"])
    seen = [line for stack in told["stacks"] for line in stack]
    assert any(line[2] == "_work" for line in seen)
    assert any(line[3].endswith("test_line_samples.py: _work") for line in seen)
    count = len(told["ns"])
    _work(0.02)
    assert len(samples.facts(1)["line_samples"]["ns"]) == count  # it has ended
    samples.begin()  # a second plain phase
    _work(0.03)
    samples.stop()
    assert len(samples.facts(1)["line_samples"]["ns"]) > count


def test_a_forked_process_does_not_wait_for_the_thread_that_it_has_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A loader's worker does not start later for it."""
    monkeypatch.setattr(line_samples, "_ENDS_WITHIN_S", 60.0)
    here = str(Path(__file__).parent)
    samples = LineSamples(Places(here, here))
    samples.begin()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # this process has threads
        child = os.fork()
    if child == 0:
        samples.stop()
        os._exit(0)
    try:
        given_up = time.perf_counter() + 20
        while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.perf_counter() < given_up:
            time.sleep(0.01)
        assert ended == (child, 0)
    finally:
        samples.stop()
        if not ended[0]:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


class _Slow(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        time.sleep(0.002)
        return self.inner(x[:1])


def test_how_many_samples_the_model_is_called_with() -> None:
    here = str(Path(__file__).parent)
    samples, model = LineSamples(Places(here, here)), _Slow()
    samples.begin()
    _work(0.05)
    given = weakref.ref(kept := torch.zeros(3, 4))
    for _ in range(50):
        model(kept)
    samples.stop()
    del kept
    assert given() is None
    told = samples.facts(1)["line_samples"]
    assert len(told["batch"]) == len(told["ns"])
    of_work, of_model = (
        {
            batch
            for batch, stack in zip(told["batch"], told["stack"], strict=True)
            if (name in str(told["stacks"][stack]))
        }
        for name in ("_work", "_call_impl")
    )
    assert (of_work, of_model) == ({0}, {3})


def test_what_fails_is_a_note(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(guard, "_failures", {})
    samples = LineSamples(Places("/nowhere", "/nowhere"))
    monkeypatch.setattr(sys, "_current_frames", lambda: 1 / 0)
    samples.begin()
    _work(0.02)
    samples.stop()
    assert any("lines of plain steps" in sentence.lower() for sentence in guard.notes())


def _gives_the_lock_up(seconds: float) -> float:
    start = time.perf_counter()
    while time.perf_counter() < start + seconds:
        time.sleep(0)
    return time.perf_counter() - start


def _keeps_the_lock(seconds: float) -> float:
    start = time.perf_counter()
    while time.perf_counter() < start + seconds:
        pass
    return time.perf_counter() - start


def test_looks_fall_where_time_is_and_not_where_the_lock_is_given_up() -> None:
    here = str(Path(__file__).parent)
    samples = LineSamples(Places(here, here))
    before = sys.getswitchinterval()
    samples.begin()
    kept_s = given_s = 0.0
    while kept_s + given_s < 3.0:  # on a busy machine each sleep of nothing may last milliseconds
        given_s += _gives_the_lock_up(0.001)
        kept_s += _keeps_the_lock(0.003)
    samples.stop()
    assert sys.getswitchinterval() == before
    told = samples.facts(1)["line_samples"]
    functions = [told["stacks"][stack][-1][2] for stack in told["stack"]]
    kept, given = functions.count("_keeps_the_lock"), functions.count("_gives_the_lock_up")
    assert kept / (kept + given) > kept_s / (kept_s + given_s) / 2
