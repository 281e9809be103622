"""Bidirectional recurrent networks of which one end is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from diagnose.run.child.products.one_end_trial import End, is_both_ways, ways
from tests.run.dataflow.looking import call_of, looking, seen, text_of


def left_of(step: Callable[[], Any]) -> dict[str, float]:
    """By the line's text, the share of its time that is left. A process's first call may take long."""
    step()
    return {text_of(line): line["left_ns"] / line["ns"] for line in seen(step)["one_end"]}


READS: list[Callable[[Tensor], Tensor]] = [
    lambda output: output[:, -1],
    lambda output: output[:, 29, :],
    lambda output: output[..., -1, :],
    lambda output: output.select(1, -1),
    lambda output: output[:, -1, :8] + output[:, -1, 8:],
]


@pytest.mark.parametrize("read", READS)
def test_the_last_step_of_both_directions(read: Callable[[Tensor], Tensor]) -> None:
    """Half of the network, and one step of the other half, is left."""
    network, rows = nn.GRU(16, 8, batch_first=True, bidirectional=True), torch.rand(4, 30, 16)

    def step() -> None:
        output, _ = network(rows)
        read(output).sum().backward()

    told = left_of(step)
    assert told.keys() == {"output, _ = network(rows)"}
    assert 0.3 < told["output, _ = network(rows)"] < 0.85


def test_the_last_final_state_is_the_reverse_directions() -> None:
    """Half of the network is left."""
    network, rows = nn.LSTM(16, 8, batch_first=True, bidirectional=True), torch.rand(4, 30, 16)

    def step() -> None:
        _, (state, _) = network(rows)
        state[-1].sum().backward()

    told = left_of(step)
    assert told.keys() == {"_, (state, _) = network(rows)"}
    assert 0.3 < told["_, (state, _) = network(rows)"] < 0.85


def test_time_may_come_first() -> None:
    network, rows = nn.LSTM(16, 8, bidirectional=True), torch.rand(30, 4, 16)
    assert left_of(lambda: network(rows)[0][-1].sum()).keys() == {
        "assert left_of(lambda: network(rows)[0][-1].sum()).keys() == {"
    }


@pytest.mark.parametrize(
    "use",
    [
        lambda output, state: output.mean(1),
        lambda output, state: output[:, -1] + output[:, 0],
        lambda output, state: output[:, -1, :8] + state[-1],
        lambda output, state: output[-1],  # a sample
        lambda output, state: output[:, [-1]].squeeze(1),
        lambda output, state: state[0],
        lambda output, state: torch.cat([state[-2], state[-1]], -1),
    ],
)
def test_what_else_is_read_needs_all_steps(use: Callable[[Tensor, Tensor], Tensor]) -> None:
    network, rows = nn.GRU(16, 8, batch_first=True, bidirectional=True), torch.rand(30, 30, 16)

    def step() -> None:
        output, state = network(rows)
        use(output, state).sum()

    assert left_of(step) == {}


def test_what_a_later_step_reads_is_needed() -> None:
    network, rows, flow = nn.GRU(8, 4, batch_first=True, bidirectional=True), torch.rand(3, 30, 8), looking()
    output, _ = network(rows)
    output[:, -1].sum()
    assert not flow.step() and flow.facts is not None and len(flow.facts["one_end"]) == 1
    output.mean()
    assert [flow.step() for _ in range(5)] == [False] * 4 + [True]
    assert flow.facts["one_end"] == []


def test_one_direction_needs_all_its_steps() -> None:
    network, rows = nn.GRU(16, 8, batch_first=True), torch.rand(4, 30, 16)
    assert left_of(lambda: network(rows)[0][:, -1].sum()) == {}


@pytest.mark.parametrize("kind", [nn.GRU, nn.LSTM, nn.RNN])
@pytest.mark.parametrize("options", [{}, {"num_layers": 3, "bias": False, "batch_first": True}], ids=str)
@pytest.mark.parametrize("end", list(End))
def test_both_ways_give_the_same(end: End, kind: type[nn.RNNBase], options: dict[str, Any]) -> None:
    network, rows = kind(5, 4, bidirectional=True, **options), torch.rand(6, 7, 5)
    call = call_of(lambda: network(rows), is_both_ways)
    output, states = network(rows)
    state = states[0] if kind is nn.LSTM else states
    as_is, at_one_end = (way(*given) for way, given in ways(call, end))
    last = output.select(int(network.batch_first), -1) if end is End.OUTPUT else state[-1]
    torch.testing.assert_close(as_is, last)
    torch.testing.assert_close(at_one_end, as_is)
