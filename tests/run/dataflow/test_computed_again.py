"""What is computed again, in one step and from step to step."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from diagnose.run.child.dataflow.dataflow import Dataflow
from diagnose.run.child.places import Places
from tests.run.dataflow.looking import HERE, again, again_later, of_six_steps, seen, text_of

ROUNDS = 12


class Field:
    """A step is one evaluation: the integrator's two are told apart by their line."""

    def __init__(self) -> None:
        self.net, self.at, self.rate = nn.Linear(3, 3), torch.rand(4, 3), 0.1
        self.last = self.at

    def force(self) -> torch.Tensor:
        return torch.tanh(self.net(self.at))

    def begin(self) -> None:
        self.at = self.at + self.rate * self.force()

    def end(self) -> None:
        self.at = self.at * 1.0
        self.last = self.force()

    def force_only(self) -> None:
        self.last = self.force()


def test_what_the_step_before_has_computed_is_computed_again_whichever_comes_first() -> None:
    field = Field()
    line = "self.at = self.at + self.rate * self.force()"  # linear and tanh, in two of the last four steps
    assert again_later([field.begin, field.end] * 3) == {line: 1.0}
    assert again_later([field.end, field.begin] * 3) == {line: 1.0}


@pytest.mark.usefixtures("real_times")
def test_time_computed_again_is_an_average_of_the_later_steps() -> None:
    """Half of them do nothing else, the other half nothing of it: half of the first step's time."""
    field, flow = Field(), Dataflow(Places(str(HERE), str(HERE)))
    assert flow.begin()
    for step in (field.end, field.force_only) * 3:
        step()
        flow.step()
    assert flow.facts is not None
    assert sum(one["ns"] for one in flow.facts["again"]) == pytest.approx(flow.facts["calls_ns"] / 2, rel=0.1)


def test_the_same_at_the_same_line_or_of_other_values_is_not() -> None:
    field = Field()
    assert again_later([field.end] * 6) == {}

    def trained() -> None:
        field.end()
        with torch.no_grad():
            field.net.weight += 0.1

    assert again_later([trained, field.begin] * 3) == {}


class Graph:
    """Its adjacency never changes, its weights do."""

    def __init__(self) -> None:
        self.adjacency, self.weight, self.last = torch.rand(9, 9), torch.rand(9, 2), torch.zeros(9)
        self.runs = 0

    def step(self) -> None:
        linked = self.adjacency + torch.eye(9)
        degree = linked.sum(1).pow(-0.5)
        self.last = (linked * degree) @ self.weight
        self.weight += 0.1

    def with_buffers(self) -> None:
        filled = torch.zeros(9)
        filled[0] = self.runs
        copied = self.adjacency * 2
        copied.view(-1)[0] = self.runs
        self.last = self.adjacency + torch.rand(9, 9)
        self.runs += 1

    def every_second_time(self) -> None:
        self.runs += 1
        if self.runs % 2:
            self.last = self.adjacency.sum(1)


def test_what_is_computed_of_what_never_changes_is_constant() -> None:
    """The sum of two with a new identity; the degrees; one product, for the other one is with the weights."""
    assert of_six_steps([Graph().step] * 6, "constant") == {
        "linked = self.adjacency + torch.eye(9)": 2.0,
        "degree = linked.sum(1).pow(-0.5)": 2.0,
        "self.last = (linked * degree) @ self.weight": 1.0,
    }


def test_what_is_written_to_afterwards_or_random_is_no_constant() -> None:
    assert of_six_steps([Graph().with_buffers] * 6, "constant") == {}


@pytest.mark.parametrize("how", [{"fused": True}, {"foreach": True}, {"foreach": False}])
@pytest.mark.parametrize("optimizer", [torch.optim.Adam, torch.optim.SGD])
def test_what_is_computed_from_trained_weights_is_not_constant(
    optimizer: type[torch.optim.Optimizer], how: dict[str, bool]
) -> None:
    """A fused optimizer writes to them without counting their versions up (torch 2.13)."""
    layers = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    x, trained = torch.rand(4, 3), optimizer(layers.parameters(), lr=0.1, **how)

    def step() -> None:
        (layers[0](x) + layers[1](x)).sum().backward()
        trained.step()
        trained.zero_grad()

    assert of_six_steps([step] * 6, "constant") == {}


def test_a_constant_of_every_second_step_counts_half() -> None:
    """Of the last four steps two have it; the first two only tell what was there."""
    assert of_six_steps([Graph().every_second_time] * 6, "constant") == {
        "self.last = self.adjacency.sum(1)": 0.5
    }


def test_a_product_of_sequences_is_computed_though_its_result_is_a_view() -> None:
    """Without gradients a linear layer of three dimensions is one of two, looked at in another shape."""
    keys, sound = nn.Linear(4, 4), torch.rand(2, 3, 4)

    def step() -> None:
        memory = sound + 0  # of this step
        with torch.no_grad():
            for _ in range(3):
                assert keys(memory)._base is not None

    assert again(step) == {"assert keys(memory)._base is not None": 2}


def test_functions_written_in_one_line_share_its_backward() -> None:
    """As a comprehension does with the function around it: what autograd does is known by line alone."""
    layer, x = nn.Linear(4, 4), torch.rand(2, 4)

    def step() -> None:
        for _ in range(2):
            last = (lambda given: layer(given))(x) + layer(x + 0)
        last.sum().backward()

    lines = [line for line in seen(step)["computed_again"] if "lambda" in text_of(line)]
    assert {line["function"] for line in lines} == {"<lambda>", "step"}
    assert len({line["line_trained_ns"] for line in lines}) == 1
    assert sum(line["trained_ns"] for line in lines) < lines[0]["line_trained_ns"]


def test_a_constant_that_two_lines_ask_for_is_computed_again_in_its_own_step_only() -> None:
    """Not in the later ones a second time, where an earlier step has it too."""
    graph = Graph()

    def step() -> None:
        first = graph.adjacency.sum(1)
        second = graph.adjacency.sum(1)
        graph.last = first + second

    told = {what: of_six_steps([step] * 6, what) for what in ("again", "constant")}
    assert told["again"] == {"second = graph.adjacency.sum(1)": 1}
    assert sum(told["constant"].values()) == 3.0


def test_before_the_third_step_nothing_is_known_to_be_constant() -> None:
    flow = Dataflow(Places(str(HERE), str(HERE)))
    assert flow.begin()
    Graph().step()
    flow.step()
    assert flow.facts is not None and "constant" not in flow.facts
    flow.end()


def test_a_network_called_anew_for_each_derivative_is_blamed_where_the_ways_part() -> None:
    network, points = nn.Linear(2, 1), torch.rand(6, 2, requires_grad=True)

    def value() -> torch.Tensor:
        return network(points)

    def slope() -> torch.Tensor:
        return torch.autograd.grad(value().sum(), points, create_graph=True)[0]

    def step() -> None:
        first = value().mean()
        second = slope().mean()
        (first + second).backward()

    assert again(step) == {"second = slope().mean()": 1}  # network(points)


def test_what_a_loop_computes_in_each_round_from_the_same_is_there_already() -> None:
    keys, weights = nn.Linear(3, 3), torch.rand(4, 3)

    def step() -> None:
        state = torch.zeros(4, 3)
        for _ in range(ROUNDS):
            state = state + keys(weights)

    assert again(step) == {"state = state + keys(weights)": ROUNDS - 1}


@pytest.mark.filterwarnings("ignore:.*spectral_norm.*is deprecated:FutureWarning")
@pytest.mark.parametrize("normed", [nn.utils.parametrizations.spectral_norm, nn.utils.spectral_norm])
def test_a_layer_with_spectral_norm_gives_the_same_twice(normed: Callable[[nn.Module], nn.Module]) -> None:
    """Each call takes its power iteration one round further, as it is to be; that changes little of what the
    layer gives for the same rows.
    """
    layer, rows, others = normed(nn.Linear(8, 8)), torch.rand(4, 8), torch.rand(4, 8)

    def step() -> None:
        contrast = layer(rows).mean() - layer(others).mean()
        size = (layer(rows) ** 2).mean()
        (contrast + size).backward()

    assert again(step) == {"size = (layer(rows) ** 2).mean()": 1}


@pytest.mark.parametrize(
    "parametrized",
    [
        nn.utils.parametrizations.weight_norm,
        lambda layer: nn.utils.parametrizations.orthogonal(layer, orthogonal_map="cayley"),
    ],
)
def test_a_weight_that_is_computed_at_each_call_of_a_recurrence(
    parametrized: Callable[[nn.Module], nn.Module],
) -> None:
    layer = parametrized(nn.Linear(8, 8))
    state, cached = torch.rand(4, 8), nn.utils.parametrize.cached

    def step() -> None:
        hidden = state
        for _ in range(ROUNDS):
            hidden = torch.tanh(layer(hidden))
        with cached():
            for _ in range(ROUNDS):
                hidden = torch.relu(layer(hidden))
        hidden.sum().backward()

    (line,) = (text for text, count in again(step).items() if count >= ROUNDS - 1)
    assert line == "hidden = torch.tanh(layer(hidden))"


def test_what_a_script_normalizes_in_place_is_another_value() -> None:
    layer, rows = nn.Linear(8, 8), torch.rand(4, 8)

    def step() -> None:
        layer(rows)
        functional.normalize(rows, out=rows)
        layer(rows)

    assert again(step) == {}


def test_one_pass_gives_the_gradients_of_all_inputs() -> None:
    network = nn.Linear(2, 1)
    x, t = (torch.rand(6, 1, requires_grad=True) for _ in range(2))

    def step() -> None:
        u = network(torch.cat([x, t], 1)).sum()
        u_x = torch.autograd.grad(u, x, create_graph=True)[0]
        u_t = torch.autograd.grad(u, t, create_graph=True)[0]
        (u_x * u_t + u_x).sum()

    assert again(step) == {"u_t = torch.autograd.grad(u, t, create_graph=True)[0]": 1}


def test_what_was_written_to_or_drawn_is_not_the_same() -> None:
    weight = nn.Parameter(torch.rand(3, 3))

    def step() -> None:
        x = torch.rand(3, 3)
        for _ in range(ROUNDS):
            torch.mm(x, weight)
            with torch.no_grad():
                weight.add_(0.1)
            torch.mm(x, weight)
            weight.data.mul_(0.5)  # of which torch counts no version
            torch.mm(x, weight)
            nn.functional.dropout(x, 0.5)

    assert again(step) == {}


def test_what_is_written_elsewhere_leaves_what_it_is_computed_of() -> None:
    rows, buffers = torch.rand(3, 3), (torch.empty(3), torch.empty(3, dtype=torch.int64))

    def step() -> None:
        rows.exp()
        torch.max(rows, 1, out=buffers)
        rows.exp()
        rows.sin() * buffers[0] + buffers[1]

    assert again(step) == {"rows.exp()": 1}


def test_the_same_without_gradients_is_another_computation() -> None:
    network, x = nn.Linear(3, 3), torch.rand(3, 3)

    def step() -> None:
        network(x).sum().backward()
        with torch.no_grad():
            network(x)

    assert again(step) == {}


def test_what_is_computed_again_is_told_by_the_line_that_computes_it_too() -> None:
    adjacency = torch.rand(5, 5)

    def normalised() -> torch.Tensor:
        return adjacency / adjacency.sum(1)

    def step() -> None:
        first = normalised()
        second = normalised()
        (first + second).sum()

    told = seen(step)
    assert [text_of(one) for one in told["again"]] == ["second = normalised()"]
    assert [text_of(one) for one in told["computed_again"]] == ["return adjacency / adjacency.sum(1)"]


def test_a_loop_that_asks_a_function_for_the_same_is_what_asks_again() -> None:
    network, points = nn.Linear(3, 1), torch.rand(8, 3)

    def answer() -> torch.Tensor:
        return network(points)

    def step() -> None:
        values = []
        for _ in range(3):
            values.append(answer())
        torch.stack(values).sum()

    told = seen(step)
    assert [(text_of(one), one["call_count"]) for one in told["again"]] == [("values.append(answer())", 2)]
    assert [text_of(one) for one in told["computed_again"]] == ["return network(points)"]


def test_a_loop_that_computes_other_things_too_is_told_by_the_line_that_does_the_same() -> None:
    """Keys are the same in each round, and the query is not: of three rounds two compute keys again. In the
    first round all is new, which tells nothing of a line.
    """
    layer, context = nn.Linear(3, 4), torch.rand(8, 3)

    def keys_of(context: torch.Tensor) -> torch.Tensor:
        return layer(context).tanh()

    def attended(query: torch.Tensor) -> torch.Tensor:
        keys = keys_of(context)
        return keys @ query

    def step() -> None:
        query = torch.rand(4)
        for _ in range(3):
            query = query * attended(query).sum()

    told = seen(step)
    assert [(text_of(one), one["call_count"]) for one in told["again"]] == [("keys = keys_of(context)", 4)]
    assert [text_of(one) for one in told["computed_again"]] == ["return layer(context).tanh()"]


def test_a_loop_that_adds_up_what_it_computes_again_is_told_by_its_own_line() -> None:
    """A round is the network's calls and a sum. Beside four calls the sum is a quarter: the loop's line does
    more than the same. Beside twelve it is little.
    """
    rows = torch.rand(8, 3)

    def network(layers: int) -> torch.Tensor:
        result = rows
        for _ in range(layers):
            result = result.tanh()
        return result

    def told(layers: int) -> list[str]:
        def step() -> None:
            total = torch.zeros(8, 3)
            for _ in range(3):
                total = total + network(layers)

        return [text_of(one) for one in seen(step)["again"]]

    assert told(4) == ["result = result.tanh()"]
    assert told(12) == ["total = total + network(layers)"]


def test_memory_that_others_write_to_is_no_constant() -> None:
    """Nothing counts what NumPy writes, nor what `.data` that was taken before is written."""
    host, weight = np.zeros((4, 3), np.float32), torch.rand(3, 3)
    batch, shadow, kept, generator = torch.from_numpy(host), weight.data, [], np.random.default_rng(0)

    def step() -> None:
        host[:] = generator.random(host.shape)
        shadow.mul_(0.9)
        kept.append(batch.sum(1))
        kept.append(weight.sum(1))

    assert of_six_steps([step] * 6, "constant") == {}


def test_a_buffer_of_numpys_that_is_filled_anew_within_a_step_gives_no_value_again() -> None:
    """As the observations of an environment, which is asked several times between two updates."""
    host = np.zeros((32, 64), np.float32)
    observations, layer, generator = torch.from_numpy(host), nn.Linear(64, 4), np.random.default_rng(0)

    def fills(count: int) -> Callable[[], None]:
        def step() -> None:
            for round_number in range(4):
                if round_number < count:
                    host[:] = generator.random(host.shape)
                layer(observations).argmax(1)

        return step

    assert again(fills(4)) == {}
    assert again(fills(1)) == {"layer(observations).argmax(1)": 6}  # two calls in each of three rounds


def test_a_few_rows_that_numpy_writes_to_a_large_array_are_seen() -> None:
    """As those that a replay buffer gets, which no sample of its numbers needs to meet."""
    store = np.zeros((20_000, 64), np.float32)
    rows, kept, step_number = torch.from_numpy(store), [], itertools.count()

    def step() -> None:
        store[501 + 2 * next(step_number)] = 1.0
        kept.append(rows.sum(1))

    assert of_six_steps([step] * 6, "constant") == {}


def test_statistics_that_a_norm_writes_are_no_constant() -> None:
    norm, fixed, kept = nn.BatchNorm1d(3), torch.rand(4, 3), []

    def step() -> None:
        norm.train()
        norm(torch.rand(8, 3))
        norm.eval()
        with torch.no_grad():
            kept.append(norm(fixed))

    assert of_six_steps([step] * 6, "constant") == {}


def test_another_number_format_is_another_value() -> None:
    layer, x = nn.Linear(8, 8), torch.rand(4, 8)

    def step() -> None:
        exact = layer(x)
        with torch.autocast("cpu", torch.bfloat16):
            low = layer(x)
        (exact - low).sum().backward()

    assert of_six_steps([step] * 6, "again") == {}
