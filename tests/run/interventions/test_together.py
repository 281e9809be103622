"""Fixes together with the step clock, and with each other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

from diagnose.fixes.all import FIXES
from diagnose.run.child.interventions import build
from diagnose.run.child.places import Places
from diagnose.run.child.steps.clock import Clock

from .trying import ROOT, Apply, losses, with_statistics


def test_an_unknown_class_is_an_error() -> None:
    for unknown in ("magic:Wand", "loader:Wand"):
        with pytest.raises((ImportError, AttributeError)):
            build([{"class": unknown, "arguments": {}, "sites": []}], Places(ROOT, ROOT))


class Ticks:
    """Listens to a clock, as the session does."""

    def __init__(self) -> None:
        self.count, self.kind = 0, ""

    def tick(self, source: object) -> None:
        self.count += 1

    def clock_upgraded(self, kind: str) -> None:
        self.count, self.kind = 0, kind

    def optimizer_constructed(self, optimizer: Any, frame: Any) -> None: ...


@pytest.fixture
def clock() -> Iterator[Callable[[], Ticks]]:
    """Starts one; it lies around what has been installed before."""
    clocks: list[Clock] = []

    def start() -> Ticks:
        listener = Ticks()
        clocks.append(Clock(listener))
        clocks[-1].install()
        return listener

    yield start
    for each in clocks:
        each.remove()


class Speller(nn.Module):
    """Answers in a method of its own, which calls its part four times."""

    def __init__(self) -> None:
        super().__init__()
        self.part = nn.Linear(4, 4)

    def spell(self, letters: torch.Tensor) -> torch.Tensor:
        for _ in range(4):
            letters = self.part(letters)
        return letters


@pytest.mark.parametrize("compiles", [False, True])
def test_a_step_of_the_compiled_model_ends_where_it_ends_without(
    apply: Apply, compiler: Any, clock: Callable[[], Ticks], *, compiles: bool
) -> None:
    """From the fourth answer on, with the third of which the method is taken for what ends steps."""
    if compiles:
        apply("compile", backend="eager")
    ticks, model = clock(), Speller()
    with torch.no_grad():
        for _ in range(8):
            model.spell(torch.ones(1, 4))
    assert (ticks.kind, ticks.count) == ("answer", 5)


@pytest.mark.parametrize("name", ["autocast", "compile", "channels_last", "inference_mode", "fold_conv_norm"])
def test_the_clock_ticks_at_every_call_of_a_model_that_is_not_trained(
    apply: Apply, compiler: Any, clock: Callable[[], Ticks], name: str
) -> None:
    model = with_statistics(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)))
    changing = apply(name, **({"backend": "eager"} if name == "compile" else {}))
    ticks = clock()
    for _ in range(5):
        model(torch.randn(2, 3, 8, 8))
    assert ticks.count == 5
    assert changing.held == {"autocast": 5, "inference_mode": 3}.get(name, 1)


@pytest.mark.parametrize("name", ["autocast", "compile"])
def test_the_clock_ticks_at_every_step_of_an_optimizer(
    apply: Apply, compiler: Any, clock: Callable[[], Ticks], name: str
) -> None:
    changing = apply(name, **({"backend": "eager"} if name == "compile" else {"dtype": "float16"}))
    ticks = clock()
    assert losses(steps=4)
    assert (ticks.count, changing.held) == (4, {"autocast": 4, "compile": 1}[name])


def test_every_fix_at_once_leaves_a_script_whole(flags: None, compiler: Any, apply: Apply) -> None:
    arguments: dict[str, dict[str, Any]] = {
        "affinity": {"cores": list(os.sched_getaffinity(0))},
        "allocator": {"library": "jemalloc"},
        "backend_flags": {"matmul_precision": "high"},
        "compile": {"backend": "eager"},
        "dataloader": {"num_workers": 1},
        "optimizer": {"fused": True},
        "threads": {"count": torch.get_num_threads()},
    }
    plain = losses()
    everything = [apply(name, **arguments.get(name, {})) for name in FIXES]
    assert losses() == pytest.approx(plain, rel=0.05)
    assert {name for name, each in zip(FIXES, everything, strict=True) if each.held} == {
        *("autocast", "backend_flags", "compile", "optimizer", "zero_grad")
    }
    assert all(each.held or each.why_not.endswith(".") for each in everything)
