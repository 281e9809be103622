"""What is recorded, and what costs are measured, beside profilers and modes of the script's own."""

from __future__ import annotations

import cProfile
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from diagnose.run.child.accelerator import Activities
from diagnose.run.child.phases.recordings import Recordings
from diagnose.run.child.recording import recorded_phase
from diagnose.run.child.recording.calibration import measured_costs
from tests.run.recording.test_marks import new_marks


class Anything:
    def __getattr__(self, name: str) -> Any:
        return lambda *given, **named: None


@pytest.fixture
def recordings(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recordings]:
    monkeypatch.setattr(recorded_phase.RecordedPhase, "start", lambda *_: None)
    nothing: Any = Anything()
    yield Recordings(nothing, nothing, Activities(device=False), nothing, lambda: None)


def test_a_detail_takes_no_profiler_of_the_scripts_off(recordings: Recordings) -> None:
    with cProfile.Profile():
        recordings.begin("detail", 3, cold=False)
    assert not recordings.with_stacks
    recordings.begin("detail", 3, cold=False)
    assert recordings.with_stacks


def test_modes_of_the_scripts_see_no_calibration() -> None:
    counted: list[Any] = []

    class Counting(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            counted.append(func)
            return func(*args, **(kwargs or {}))

    class Calling(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            counted.append(func)
            return func(*args, **(kwargs or {}))

    with Counting(), Calling():
        costs = measured_costs(new_marks(), Activities(device=False))
    assert costs is not None and costs["call_ns"] > 0 and counted == []
    with Counting():
        torch.ones(())
    assert len(counted) == 1
