"""Calls of a loop that could be one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import Variable
from torch.nn import functional

from tests.run.dataflow.looking import at_once, seen, text_of

ROUNDS = 12


def test_rows_written_one_by_one_need_nothing_of_those_before() -> None:
    source = torch.rand(ROUNDS, 4)

    def step() -> None:
        scores = torch.zeros(ROUNDS)
        for k in range(ROUNDS):
            scores[k] = source[k].sum()  # a row taken, its sum, the write

    assert at_once(step) == {
        "scores[k] = source[k].sum()  # a row taken, its sum, the write": (ROUNDS, 3 * ROUNDS)
    }


def test_rows_written_of_rows_written_before_are_a_recurrence() -> None:
    def step() -> None:
        state = torch.rand(ROUNDS + 1)
        for k in range(ROUNDS):
            state[k + 1] = state[k] * 0.5

    assert at_once(step) == {}


@pytest.mark.parametrize("into", [lambda buffer: buffer, lambda buffer: buffer[:1]])
def test_a_state_that_goes_through_a_buffer_is_a_recurrence(into: Callable[[Tensor], Tensor]) -> None:
    weight, buffer = torch.rand(4, 4), torch.empty(1, 4)

    def step() -> None:
        state = torch.rand(1, 4)
        for _ in range(ROUNDS):
            torch.mm(state, weight, out=into(buffer))
            state = torch.tanh(buffer).relu()

    assert at_once(step) == {}


def test_a_loss_summed_over_time_depends_on_nothing_but_the_sum() -> None:
    target = torch.rand(4, ROUNDS)

    def step() -> None:
        predicted, loss = torch.rand(4, ROUNDS, requires_grad=True) * 2, 0.0
        for k in range(ROUNDS):
            error = (predicted[:, k] - target[:, k]).abs().mean()
            loss = loss + error

    # two rows taken, subtracted, made absolute, averaged
    assert at_once(step) == {"error = (predicted[:, k] - target[:, k]).abs().mean()": (ROUNDS, 5 * ROUNDS)}


def test_a_recurrence_is_left_alone_but_for_what_does_not_need_it() -> None:
    cell, hidden = nn.GRUCell(3, 5), nn.Linear(5, 5)
    inputs = torch.rand(4, ROUNDS, 3)

    def step() -> None:
        state, rows = torch.zeros(4, 5), inputs * 2
        for k in range(ROUNDS):
            row = torch.tanh(rows[:, k])
            state = hidden(cell(row, state))

    assert at_once(step) == {"row = torch.tanh(rows[:, k])": (ROUNDS, 2 * ROUNDS)}


def test_layers_within_a_round_may_follow_each_other() -> None:
    score = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))

    def step() -> None:
        rows = torch.rand(4, ROUNDS, 3) + 1
        torch.cat([score(rows[:, k]) for k in range(ROUNDS)])

    assert at_once(step) == {"torch.cat([score(rows[:, k]) for k in range(ROUNDS)])": (ROUNDS, 4 * ROUNDS)}


@pytest.mark.parametrize("trained", [True, False])
def test_rounds_of_differing_sizes_are_a_loop_where_they_are_trained(trained: bool) -> None:
    """As graphs of a batch are: padded, or one after the other, they are one call. Samples of a loader, each
    of its own size, are left alone but for their sums, which are all of one size.
    """
    embed = nn.Linear(3, 3)
    graphs = [torch.rand(2 + k, 3) for k in range(ROUNDS)]

    def step() -> None:
        with torch.set_grad_enabled(trained):
            for graph in graphs:
                torch.tanh(embed(graph * 2)).sum(0)

    told = seen(step)["at_once"]
    rounds = "torch.tanh(embed(graph * 2)).sum(0)"
    told_calls = {text_of(line): (line["rounds"], line["call_count"]) for line in told}
    assert told_calls == {rounds: (ROUNDS, 3 * ROUNDS if trained else ROUNDS)}
    assert (0 < told[0]["sizes_differ_ns"] < told[0]["ns"]) if trained else not told[0]["sizes_differ_ns"]


class Weighted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(3, 3)

    def forward(self, nodes: Tensor) -> Tensor:
        return (self.embed(nodes) * self.lengths(nodes)).sum(0)

    def lengths(self, nodes: Tensor) -> Tensor:
        return (nodes * nodes).sum(1, keepdim=True)


def test_what_a_network_works_out_of_each_graph_is_done_at_once_with_it() -> None:
    """It needs no gradients, as samples of a loader, but belongs to what is trained. What is done with a graph
    before the network has it does not.
    """
    model, graphs = Weighted(), [torch.rand(2 + k, 3) for k in range(ROUNDS)]

    def step() -> None:
        for graph in graphs:
            model(alone(torch.exp, graph * 2))

    assert at_once(step) == {
        "return (self.embed(nodes) * self.lengths(nodes)).sum(0)": (ROUNDS, 3 * ROUNDS),
        "return (nodes * nodes).sum(1, keepdim=True)": (ROUNDS, 2 * ROUNDS),
    }


@pytest.mark.parametrize("reads", [False, True])
def test_layers_one_after_the_other_or_each_with_weights_of_its_own_are_no_such_loop(reads: bool) -> None:
    layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(ROUNDS))

    def step() -> None:
        x = torch.rand(4, 3) + 1
        if reads:
            torch.stack([layer(x) for layer in layers])
        for layer in layers:
            x = layer(x)

    assert at_once(step) == {}


def test_rounds_between_which_values_reach_python_depend_on_each_other() -> None:
    policy = nn.Linear(3, 2)

    def step() -> None:
        state = 0.0
        for _ in range(ROUNDS):
            seen_state = torch.tensor([state, 1.0, 2.0])
            state = policy(seen_state).sum().item()

    assert at_once(step) == {}


@pytest.mark.parametrize(
    "count",
    [
        lambda ages, over: len(ages[over]),
        lambda ages, over: (ages[over] + 1).shape[0],
        lambda ages, over: over.nonzero().size(0),
        lambda ages, over: torch.masked_select(ages, over).numel(),
    ],
)
def test_rounds_depend_on_what_decides_how_many_rows_are_written(count: Callable[..., int]) -> None:
    """Which of the games are over decides how many begin anew. Other rounds do not: but for the selection
    itself, which has another size in each.
    """
    state = torch.zeros(8, 4)

    def games() -> None:
        for _ in range(ROUNDS):
            over = (state * 2).sum(1) > 1
            ended = count(state[:, 0], over)
            state[:ended] = 0

    def sums_of_positive() -> None:
        for row in torch.rand(ROUNDS, 8):
            (row * 2)[row > 0.5].sum()

    assert at_once(games) == {}
    assert at_once(sums_of_positive) == {"(row * 2)[row > 0.5].sum()": (ROUNDS, 3 * ROUNDS)}


def test_what_is_drawn_at_random_is_told_until_it_meets_what_is_trained() -> None:
    layer, fixed = nn.Linear(8, 8), torch.rand(4, 8)

    def step() -> None:
        kept = fixed * 2
        noise = torch.rand(4, 8)
        given = torch.empty(4, 8).uniform_() + kept
        predicted = functional.dropout(layer(given + noise), 0.5)
        (predicted.detach() > 0).float().mean()

    told = {text_of(line): line["call_count"] for line in seen(step)["drawn"] if line["function"] == "step"}
    assert told == {
        "noise = torch.rand(4, 8)": 1,
        "given = torch.empty(4, 8).uniform_() + kept": 2,  # writing in place is no call that makes a tensor
        "predicted = functional.dropout(layer(given + noise), 0.5)": 1,
    }


def test_batches_that_are_trained_on_one_after_the_other_are_not_to_be_one() -> None:
    model, batches = nn.Linear(3, 2), torch.rand(ROUNDS, 4, 3)

    def step() -> None:
        for k in range(ROUNDS):
            model(batches[k] * 2).sum().backward()

    assert at_once(step) == {}


def alone(function: Callable[[torch.Tensor], torch.Tensor], given: torch.Tensor) -> torch.Tensor:
    return function(given)


def test_lines_around_know_how_much_below_them_is_independent() -> None:
    model, rows = nn.Linear(3, 2), torch.rand(ROUNDS, 4, 3)

    def step() -> None:
        state = torch.zeros(4, 2)
        for k in range(ROUNDS):
            alone(model, rows[k] + 1)
            state = alone(torch.tanh, state)

    around = {text_of(one): one["independent_ns"] / one["ns"] for one in seen(step)["around"]}
    assert around["alone(model, rows[k] + 1)"] == pytest.approx(1)
    assert around["state = alone(torch.tanh, state)"] == 0


def test_samples_of_several_shapes_are_independent_and_one_call_takes_them_one_after_the_other() -> None:
    model, rows = nn.Linear(3, 2), torch.rand(ROUNDS, 4, 3)

    def step() -> None:
        for k in range(ROUNDS):
            alone(model, rows[k, : 1 + k % 3] + 1)

    told = seen(step)
    around = {text_of(one): one["independent_ns"] / one["ns"] for one in told["around"]}
    assert around["alone(model, rows[k, : 1 + k % 3] + 1)"] == pytest.approx(1)
    (line,) = told["at_once"]  # the rows that are picked need no gradients
    assert text_of(line) == "return function(given)" and line["sizes_differ_ns"] == line["ns"]


def test_products_of_a_loop_with_the_same_weights_are_tried_at_once() -> None:
    """A vocabulary that each step of a decoder projects to: one product of all steps reads it once."""
    cell, vocabulary = nn.GRUCell(16, 32), nn.Linear(32, 4000)
    words = torch.randn(ROUNDS, 4, 16)

    def step() -> None:
        state = torch.zeros(4, 32)
        for word in words:
            state = cell(word, state)
            vocabulary(state)

    (line,) = [line for line in seen(step)["at_once"] if text_of(line) == "vocabulary(state)"]
    assert (line["product_count"], line["call_count"]) == (ROUNDS, ROUNDS)
    assert line["product_ns"] == line["ns"]
    assert line["product_left_ns"] < 0.9 * line["ns"]  # 0.3 of it on one core
    assert vocabulary.weight.grad is None


def test_cells_of_the_nodes_of_a_graph_are_one_call_a_level() -> None:
    """Of three levels with five nodes each: one cell a level is left."""
    cell, inputs = nn.GRUCell(64, 64), torch.randn(15, 1, 64)

    def step() -> None:
        below = torch.zeros(1, 64)
        for level in range(3):
            states = []
            for k in range(5):
                states.append(cell(inputs[5 * level + k], below))
            below = torch.cat(states).max(0, keepdim=True).values

    (line,) = [line for line in seen(step)["at_once"] if "cell(inputs" in text_of(line)]
    # rows taken (all at once), cells (a level at once)
    assert (line["group_count"], line["call_count"], line["rounds"]) == (1 + 3, 15 + 15, 15)
    assert line["product_count"] == 15 and line["product_left_ns"] < 0.8 * line["product_ns"]


@pytest.mark.parametrize(("padding", "batched"), [(1, True), ("same", True), (1, False)])
def test_convolutions_of_the_channels_are_tried_as_one(padding: int | str, batched: bool) -> None:
    """Of eight tiny pictures a channel. Without a batch there are no rows to put together."""
    kernels, pictures = torch.randn(3, 1, 3, 3), torch.randn(8, ROUNDS, 6, 6, requires_grad=True)

    def step() -> None:
        features = []
        for channel in range(ROUNDS):
            one = pictures[:, channel : channel + 1] if batched else pictures[:1, channel]
            features.append(functional.conv2d(one, kernels, padding=padding))
        torch.cat(features).sum().backward()

    (line,) = [line for line in seen(step)["at_once"] if "conv2d" in text_of(line)]
    assert line["product_count"] == (ROUNDS if batched else 0)
    assert line["product_left_ns"] <= 0.8 * line["product_ns"]


def test_calls_that_two_loops_make_are_not_of_one() -> None:
    """What one loop feeds back, by what Python reads, says nothing of the other."""
    layer, inputs = nn.Linear(4, 4), torch.randn(ROUNDS, 2, 4)

    def project(x: Tensor) -> Tensor:
        return layer(x)

    def step() -> None:
        word = torch.ones(2, 4)
        for _ in range(ROUNDS):
            word = torch.tensor(project(word).tolist())
        for row in torch.tensor(inputs.tolist()):
            project(row)

    (line,) = [line for line in seen(step)["at_once"] if text_of(line) == "return layer(x)"]
    assert (line["rounds"], line["call_count"], text_of(line["loop"])) == (ROUNDS, ROUNDS, "project(row)")


def test_of_loops_in_one_another_the_inmost_with_enough_rounds_is_told() -> None:
    """Three heads a row are too few: the loop over the rows comes to what they do."""
    layer, rows = nn.Linear(4, 4), torch.randn(ROUNDS, 3, 2, 4)

    def heads(row: Tensor) -> None:
        for head in row * 2:
            layer(head)

    def step() -> None:
        for row in rows:
            heads(row)

    lines = {text_of(line): line for line in seen(step)["at_once"]}
    assert lines["layer(head)"]["rounds"] == 3 * ROUNDS
    assert text_of(lines["layer(head)"]["loop"]) == "heads(row)"


def test_a_recursion_is_one_loop_at_whatever_depth() -> None:
    """But for the outermost call, which comes from elsewhere."""
    layer = nn.Linear(4, 4)

    def walk(depth: int, x: Tensor) -> None:
        layer(x)
        if depth:
            walk(depth - 1, x + depth)

    assert at_once(lambda: walk(ROUNDS, torch.randn(2, 4)))["layer(x)"] == (ROUNDS, ROUNDS)


@pytest.mark.parametrize("lengths", [[6] * ROUNDS, [3, 8, 5, 2, 7, 4, 6, 3, 5, 8, 2, 6]])
@pytest.mark.parametrize(
    "begin",
    [
        lambda: torch.zeros(1, 4, 16),
        lambda: torch.Tensor(1, 4, 16).fill_(0),
        lambda: Variable(torch.zeros(1, 4, 16)),
        lambda: torch.zeros(1, 4, 16).requires_grad_(),
        lambda: None,
    ],
)
def test_a_recurrent_network_for_each_sentence_is_tried_at_once(
    lengths: list[int], begin: Callable[[], Tensor | None]
) -> None:
    """All in one batch, padded to the longest."""
    network, words = nn.GRU(8, 16), nn.Embedding(50, 8)
    sentences = [torch.randint(50, (length, 4)) for length in lengths]

    def step() -> None:
        states = []
        for sentence in sentences:
            states.append(network(words(sentence), begin())[1])
        torch.cat(states).sum().backward()

    lines = [line for line in seen(step)["at_once"] if "network(" in text_of(line)]
    assert sum(line["product_count"] for line in lines) == ROUNDS
    (line,) = [line for line in lines if line["product_count"]]
    assert line["product_left_ns"] < 0.7 * line["product_ns"]  # 0.2 of it on one core
