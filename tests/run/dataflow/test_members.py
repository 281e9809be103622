"""Layers of one shape, each with weights of its own, that are called in turn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.run.dataflow.looking import seen

HERE = Path(__file__)
LINES = HERE.read_text().splitlines()
LINE = "results.append(member(rows))"


def members(step: Callable[[], Any]) -> dict[str, tuple[int, float]]:
    """By the line's text: calls, and the share of their time that one call leaves."""
    return {
        LINES[line["line"] - 1].strip(): (line["call_count"], line["left_ns"] / line["ns"])
        for line in seen(step)["members"]
    }


def in_turn(ensemble: nn.ModuleList, rows: Tensor) -> list[Tensor]:
    results = []
    for member in ensemble:
        results.append(member(rows))
    return results


def test_an_ensemble_of_small_layers() -> None:
    ensemble, rows = nn.ModuleList(nn.Linear(16, 16) for _ in range(12)), torch.rand(8, 16)
    told = members(lambda: torch.stack(in_turn(ensemble, rows)).sum().backward())
    assert told.keys() == {LINE}
    count, left = told[LINE]
    assert count == 12 and left < 0.7


@pytest.mark.parametrize(
    "make",
    [
        lambda: [nn.Linear(16, 16)] * 12,  # the same weights: a loop of its own kind
        lambda: [nn.Linear(16, 16) for _ in range(3)],  # few
        lambda: [nn.Linear(16, width) for width in range(8, 20)],  # of other shapes
    ],
)
def test_other_layers_are_no_ensemble(make: Callable[[], list[nn.Module]]) -> None:
    layers, rows = nn.ModuleList(make()), torch.rand(8, 16)
    assert members(lambda: in_turn(layers, rows)) == {}


def test_one_layer_for_several_batches_is_none() -> None:
    layer, batches = nn.Linear(16, 16), [torch.rand(8, 16) for _ in range(12)]

    def step() -> None:
        for batch in batches:
            layer(batch)

    assert members(step) == {}


def test_layers_that_need_each_other_are_none() -> None:
    layers, rows = nn.ModuleList(nn.Linear(16, 16) for _ in range(12)), torch.rand(8, 16)

    def step() -> None:
        hidden = rows
        for layer in layers:
            hidden = layer(hidden)

    assert members(step) == {}
