"""Layers of one shape, each with weights of its own, that are called in turn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from diagnose.run.child.dataflow.seen_step import Group
from tests.run.dataflow.looking import looking, seen

HERE = Path(__file__)
LINES = HERE.read_text().splitlines()
LINE = "results.append(member(rows))"


def members(step: Callable[[], Any]) -> dict[str, tuple[int, float]]:
    """By the line's text: calls, and the share of their time that one call leaves."""
    return {
        LINES[line["line"] - 1].strip(): (line["call_count"], line["left_ns"] / line["ns"])
        for line in seen(step)["members"]
    }


def groups_of(step: Callable[[], Any]) -> list[Group]:
    flow = looking()
    try:
        step()
        return list(flow._step.groups.values())
    finally:
        flow.end()


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


def test_slices_of_one_parameter_are_weights_of_their_own() -> None:
    """Told once: as members, and beside them only the slicing of both, which is two calls a round."""
    stacked, rows = nn.Parameter(torch.rand(12, 16, 16)), torch.rand(12, 8, 16)

    def step() -> None:
        results = []
        for number in range(12):
            results.append(functional.linear(rows[number], stacked[number]))
        torch.stack(results).sum().backward()

    facts = seen(step)
    line = "results.append(functional.linear(rows[number], stacked[number]))"
    (told,) = facts["members"]
    assert (LINES[told["line"] - 1].strip(), told["call_count"]) == (line, 12)
    assert told["left_ns"] < 0.9 * told["ns"]
    (sliced,) = [one for one in facts["at_once"] if one["line"] == told["line"]]
    assert (sliced["rounds"], sliced["call_count"]) == (12, 24)


def test_products_of_pairs_are_not_tried_with_the_same_weights() -> None:
    """`bmm` does these; one product of all rows with the first matrix would be another one."""
    left, right = torch.rand(12, 8, 16), torch.rand(12, 16, 16)

    def step() -> None:
        torch.stack([left[number] @ right[number] for number in range(12)]).sum()

    assert seen(step)["members"] == []
    (group,) = [
        group
        for group in groups_of(step)
        if group.are_members and group.is_loop and group.shapes[0] == (8, 16) and len(group.weights) == 12
    ]
    assert group.left is None
