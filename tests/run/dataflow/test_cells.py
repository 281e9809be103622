"""Recurrent cells, and modules for one time step."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from tests.run.dataflow.looking import seen, text_of

ROUNDS = 12


@pytest.mark.parametrize(("source", "free"), [("sequence", True), ("output", False), ("reading", False)])
def test_cells_are_free_whose_inputs_need_no_earlier_output(source: str, free: bool) -> None:
    """Layers before and after each do not matter."""
    before, cell, after = nn.Linear(4, 4), nn.GRUCell(4, 4), nn.Linear(4, 4)
    inputs, first = torch.randn(ROUNDS, 2, 4), torch.zeros(2, 4)

    def step() -> None:
        state, word = first, torch.ones(2, 4)
        for row in inputs:
            if source == "reading":
                word = torch.tensor([[float(word.detach().sum())] * 4] * 2)
            given = row if source == "sequence" else word
            state = cell(before(given), state)
            word = after(state)

    lines = [text_of(line) for line in seen(step)["free_cells"]]
    assert ("state = cell(before(given), state)" in lines) is free


@pytest.mark.parametrize(("of_a_sequence", "free"), [("masked", True), ("graph", False)])
def test_cells_are_free_whose_state_is_an_earlier_output(of_a_sequence: str, free: bool) -> None:
    """Where sequences are over, it is kept by a mask; in a graph it is a message of all nodes before."""
    cell, message = nn.GRUCell(4, 4), nn.Linear(4, 4)
    inputs, mask = torch.randn(ROUNDS, 2, 4), torch.ones(ROUNDS, 2, 1)

    def step() -> None:
        state, nodes = torch.zeros(2, 4), [torch.zeros(2, 4)]
        for k in range(ROUNDS):
            new = cell(inputs[k], state)
            nodes.append(new)
            if of_a_sequence == "masked":
                state = mask[k] * new + (1 - mask[k]) * state
            else:
                state = message(torch.stack(nodes)).max(0).values

    lines = [text_of(line) for line in seen(step)["free_cells"]]
    assert ("new = cell(inputs[k], state)" in lines) is free


@pytest.mark.parametrize("make", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "batch_first": True, "bias": False}], ids=str)
def test_a_module_for_one_time_step_is_tried_as_cells(make: Any, options: dict[str, Any]) -> None:
    module = make(6, 8, **options)
    word = torch.randn(3, 1, 6) if options else torch.randn(1, 3, 6)

    def step() -> None:
        _, state = module(word)
        module(word, state)

    lines = seen(step)["one_step"]
    assert {text_of(line) for line in lines} == {"_, state = module(word)", "module(word, state)"}
    assert all(line["left_ns"] > 0 for line in lines)


@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")
@pytest.mark.parametrize("options", [{"bidirectional": True}, {"proj_size": 4}, {}], ids=str)
def test_modules_for_which_no_cells_stand_are_not_tried(options: dict[str, Any]) -> None:
    """Those of both directions, with projections, and those for more time steps."""
    module, steps = nn.LSTM(6, 8, **options), 1 if options else 2
    assert seen(lambda: module(torch.randn(steps, 3, 6)))["one_step"] == []


@pytest.mark.parametrize("make", [nn.LSTM, nn.GRU, nn.RNN])
def test_cells_compute_what_the_module_does(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two layers: both ways give the same rows."""
    made: list[torch.Tensor] = []

    def results(*ways: Any, is_trained: bool) -> list[int]:
        made.extend(way(*given) for way, given in ways)
        return [1, 1]

    monkeypatch.setattr("diagnose.run.child.products.product_trial.shortest_ns", results)
    module, word = make(6, 8, num_layers=2), torch.randn(1, 3, 6)
    (line,) = seen(lambda: module(word))["one_step"]
    assert line["left_ns"] == line["ns"]
    torch.testing.assert_close(made[0].squeeze(0), made[1])


def test_trying_cells_draws_no_random_numbers() -> None:
    """Nor does the module that stands beside them: its dropout between layers is left out."""
    module, word = nn.LSTM(6, 8, num_layers=2, dropout=0.5), torch.randn(1, 3, 6)
    drawn = []
    for is_looked_at in (False, True):
        torch.manual_seed(0)
        if is_looked_at:
            assert seen(lambda: module(word))["one_step"]
        else:
            module(word)
        drawn.append(torch.rand(4).tolist())
    assert drawn[0] == drawn[1]
