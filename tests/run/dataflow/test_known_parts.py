"""Layers in a loop whose input is in part known ahead of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from diagnose.run.child.products import known_parts_trial
from tests.run.dataflow.looking import call_of, seen

HERE = Path(__file__)
LINES = HERE.read_text().splitlines()


def known(step: Callable[[], Any]) -> dict[str, tuple[int, float]]:
    """By the line's text: calls, and the share of their time that is left."""
    return {
        LINES[line["line"] - 1].strip(): (line["call_count"], line["left_ns"] / line["ns"])
        for line in seen(step)["known_parts"]
    }


def test_each_rounds_features_beside_the_state() -> None:
    gates, features = nn.Linear(1024 + 256, 256), torch.rand(12, 16, 1024)

    def step() -> None:
        state = torch.zeros(16, 256)
        for row in features:
            joined = torch.cat([row, state], -1)
            state = torch.tanh(gates(joined))
        state.sum().backward()

    told = known(step)
    assert told.keys() == {"state = torch.tanh(gates(joined))"}
    count, left = next(iter(told.values()))
    assert count == 12 and left < 0.9  # of 1280 columns 256 depend on the state


def test_a_cell_whose_state_is_changed_between() -> None:
    cell, features = nn.GRUCell(1024, 16), torch.rand(12, 4, 1024)

    def step() -> None:
        state = torch.zeros(4, 16)
        for row in features:
            state = cell(row, state.sin())
        state.sum().backward()

    told = known(step)
    assert told.keys() == {"state = cell(row, state.sin())"}
    assert next(iter(told.values()))[0] == 12


def test_rows_that_were_there_before() -> None:
    cell, features = nn.GRUCell(1024, 16), [torch.rand(4, 1024) for _ in range(12)]

    def step() -> None:
        state = torch.zeros(4, 16)
        for row in features:
            state = cell(row, state.sin())
        state.sum().backward()

    assert next(iter(known(step).values()))[0] == 12


def test_a_cell_that_a_module_can_replace_is_told_elsewhere() -> None:
    cell, features = nn.GRUCell(1024, 16), torch.rand(12, 4, 1024)

    def step() -> None:
        state = torch.zeros(4, 16)
        for row in features:
            state = cell(row, state)
        state.sum().backward()

    assert known(step) == {}


def test_a_convolution_of_pictures_and_a_state() -> None:
    gates, pictures = nn.Conv2d(24 + 2, 2, 3, padding=1), torch.rand(8, 2, 24, 12, 12)

    def step() -> None:
        state = torch.zeros(2, 2, 12, 12)
        for picture in pictures:
            state = torch.tanh(gates(torch.cat([picture, state], 1)))
        state.sum().backward()

    assert known(step).keys() == {"state = torch.tanh(gates(torch.cat([picture, state], 1)))"}


def without_a_state(layer: nn.Linear, rows: Tensor) -> None:
    for row in rows:
        layer(torch.cat([row, row + 1], -1))


def of_what_was_said_before(layer: nn.Linear, rows: Tensor) -> None:
    row = rows[0]
    for _ in rows:
        row = layer(torch.cat([row.exp(), row.sin()], -1))


def the_same_in_all_rounds(layer: nn.Linear, rows: Tensor) -> None:
    row = rows[0]
    for _ in rows:
        row = layer(torch.cat([row, rows[1]], -1))


def in_few_rounds(layer: nn.Linear, rows: Tensor) -> None:
    row = rows[0]
    for other in rows[:3]:
        row = layer(torch.cat([row, other], -1))


def along_the_rows(layer: nn.Linear, rows: Tensor) -> None:
    state = torch.zeros(4, 32)
    for row in rows:
        state = torch.cat(
            [layer(torch.cat([row.view(4, 16), state[:, 16:]], 0).view(4, 32)), row.view(4, 16)], 1
        )


def joined_otherwise_each_time(layer: nn.Linear, rows: Tensor) -> None:
    row = rows[0]
    for at, other in enumerate(rows):
        row = layer(torch.cat([row, other, row], -1)[..., at : at + 32])


@pytest.mark.parametrize(
    "use",
    [without_a_state, of_what_was_said_before, in_few_rounds, along_the_rows, joined_otherwise_each_time],
)
def test_other_loops_know_no_part(use: Callable[[nn.Linear, Tensor], None]) -> None:
    layer, rows = nn.Linear(32, 16), torch.rand(10, 4, 16)
    assert known(lambda: use(layer, rows)) == {}


Shapes = list[tuple[int, ...]]
LAYERS: list[tuple[Callable[[], nn.Module], Shapes]] = [
    (lambda: nn.Linear(6, 4), [(3, 6)]),
    (lambda: nn.Linear(6, 4, bias=False), [(3, 5, 6)]),
    (lambda: nn.Conv1d(6, 4, 3, padding=1), [(2, 6, 9)]),
    (lambda: nn.Conv2d(6, 4, 3, stride=2), [(2, 6, 9, 9)]),
]
CELLS: list[tuple[Callable[[], nn.Module], Shapes]] = [
    (lambda: nn.GRUCell(6, 4), [(3, 6), (3, 4)]),
    (lambda: nn.LSTMCell(6, 4), [(3, 6), (3, 4), (3, 4)]),
    (lambda: nn.RNNCell(6, 4), [(3, 6), (3, 4)]),
    (lambda: nn.RNNCell(6, 4, nonlinearity="relu"), [(3, 6), (3, 4)]),
]
IN_PART = [[(2, True), (1, False), (3, True)], [(4, False), (2, True)]]


@pytest.mark.parametrize(
    ("layer", "shapes", "parts"),
    [(*layer, parts) for layer in LAYERS + CELLS for parts in IN_PART]
    + [(*cell, [(6, True)]) for cell in CELLS],  # all of a cell's input, not of its state
)
def test_both_ways_give_the_same(
    layer: Callable[[], nn.Module],
    shapes: Shapes,
    parts: list[tuple[int, bool]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ways: list[Tensor] = []

    def shares(*both: Any, is_trained: bool) -> float:
        ways.extend(way(*tensors) for way, tensors in both)
        return 0.5

    monkeypatch.setattr(known_parts_trial, "share_left", shares)
    rows, *state = [torch.rand(shape) for shape in shapes]
    layer_given = [rows, *([tuple(state)] if len(state) > 1 else state)]
    call = call_of(lambda: layer()(*layer_given), known_parts_trial.is_layer)
    assert known_parts_trial.left_of_known(call, parts, 3, 1, is_trained=True) == 0.5
    torch.testing.assert_close(*ways)
