"""For all looks at the dataflow."""

from __future__ import annotations

import itertools

import pytest


@pytest.fixture(autouse=True)
def trials_with_one_thread(one_thread: None) -> None:
    """Many looks time what they see."""


@pytest.fixture
def real_times() -> None:
    """For tests about what calls take."""


@pytest.fixture(autouse=True)
def each_call_takes_as_long(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """10 us: on a busy machine any may take longer than is tried, or than all others of its line."""
    if "real_times" not in request.fixturenames:
        ticks = itertools.count(0, 10_000)
        monkeypatch.setattr("diagnose.run.child.dataflow.dataflow.perf_counter_ns", ticks.__next__)
