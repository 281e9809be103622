"""What calls of torch depend on, of loops written here."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import _get_current_function_mode

from diagnose.run.child import guard
from diagnose.run.child.dataflow.dataflow import Dataflow
from diagnose.run.child.places import Places
from diagnose.run.child.products.repeated_matrices import without_copies

HERE = Path(__file__)
LINES = HERE.read_text().splitlines()
ROUNDS = 12


def seen(step: Callable[[], Any]) -> dict[str, Any]:
    flow = Dataflow(Places(str(HERE.parent), str(HERE.parent)))
    assert flow.begin()
    step()
    assert [flow.step() for _ in range(6)] == [False] * 5 + [True]
    assert flow.facts is not None and torch.overrides._get_current_function_mode() is None
    return flow.facts


def text_of(place: dict[str, Any]) -> str:
    assert place["file"] == str(HERE)
    return LINES[place["line"] - 1].strip()


def at_once(step: Callable[[], Any]) -> dict[str, tuple[int, int]]:
    """By the line's text: rounds, and calls that could be one."""
    return {text_of(one): (one["rounds"], one["call_count"]) for one in seen(step)["at_once"]}


def again(step: Callable[[], Any]) -> dict[str, int]:
    return {text_of(one): one["call_count"] for one in seen(step)["again"]}


def again_later(steps: list[Callable[[], Any]]) -> dict[str, float]:
    """Calls a step that ask for what the one before has."""
    return of_six_steps(steps, "again")


def of_six_steps(steps: list[Callable[[], Any]], what: str) -> dict[str, float]:
    flow = Dataflow(Places(str(HERE.parent), str(HERE.parent)))
    assert flow.begin()
    assert len(steps) == 6
    for step in steps:
        step()
        flow.step()
    assert flow.facts is not None
    return {text_of(one): one["call_count"] for one in flow.facts[what]}


def test_slow_steps_are_looked_at_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("diagnose.run.child.dataflow.dataflow._LONG_NS", 0)
    flow = Dataflow(Places(str(HERE.parent), str(HERE.parent)))
    assert flow.begin()
    assert [flow.step(), flow.step()] == [False, True]
    assert flow.facts is not None and flow.facts["unread"] == []


# ---- what the step before has computed


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


def test_time_computed_again_is_an_average_of_the_later_steps() -> None:
    """Half of them do nothing else, the other half nothing of it: half of the first step's time."""
    field, flow = Field(), Dataflow(Places(str(HERE.parent), str(HERE.parent)))
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


# ---- what is the same in each step


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
    flow = Dataflow(Places(str(HERE.parent), str(HERE.parent)))
    assert flow.begin()
    Graph().step()
    flow.step()
    assert flow.facts is not None and "constant" not in flow.facts
    flow.end()


# ---- calls that could be one


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


# ---- the same again


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


def alone(function: Callable[[torch.Tensor], torch.Tensor], given: torch.Tensor) -> torch.Tensor:
    return function(given)


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


def test_the_same_without_gradients_is_another_computation() -> None:
    network, x = nn.Linear(3, 3), torch.rand(3, 3)

    def step() -> None:
        network(x).sum().backward()
        with torch.no_grad():
            network(x)

    assert again(step) == {}


# ---- no harm


def test_errors_are_those_of_the_call_itself() -> None:
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        seen(lambda: torch.mm(torch.zeros(2, 3), torch.zeros(2, 3)))
    torch.overrides._get_current_function_mode().__exit__(None, None, None)


def test_a_mode_of_the_scripts_own_stays_on_top() -> None:
    flow = Dataflow(Places(str(HERE.parent), str(HERE.parent)))
    flow.begin()
    with torch.device("cpu"):
        assert [flow.step() for _ in range(6)] == [False] * 5 + [True]
        assert torch.zeros(2).sum() == 0  # ours is still there and does nothing
        assert not flow.facts["at_once"]
    flow.end()
    assert torch.overrides._get_current_function_mode() is None


# ---- checks of distributions


def test_a_step_that_ends_inside_a_block_with_a_mode_is_left_alone() -> None:
    """Its end takes the topmost mode off, whosever that is."""
    flow = Dataflow(Places(str(HERE.parent), str(HERE.parent)))
    with torch.device("meta"):
        begun = flow.begin()
    assert torch.empty(1).device.type == "cpu" and not begun


def test_a_default_device_is_no_such_block() -> None:
    torch.set_default_device("cpu")
    try:
        flow = Dataflow(Places(str(HERE.parent), str(HERE.parent)))
        assert flow.begin()
        flow.end()
    finally:
        torch.set_default_device(None)
    assert _get_current_function_mode() is None


def test_checks_of_a_distribution_count_at_the_line_that_asks_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those of its parameters, and those of the value whose probability is asked for."""
    logits = torch.randn(8, 3)
    # torch.compile switches them off in the whole process
    monkeypatch.setattr(torch.distributions.Distribution, "_validate_args", True)

    def step() -> None:
        policy = torch.distributions.Categorical(logits=logits)
        policy.log_prob(policy.sample()).sum()
        torch.distributions.Normal(logits, 1.0, validate_args=False).log_prob(logits).sum()

    checked = {text_of(one) for one in seen(step)["checks"]}
    assert checked == {
        "policy = torch.distributions.Categorical(logits=logits)",
        "policy.log_prob(policy.sample()).sum()",
    }


def diagonal(covariance: torch.Tensor) -> set[str]:
    mean = torch.randn(6, 3, requires_grad=True)

    def step() -> None:
        policy = torch.distributions.MultivariateNormal(mean, covariance)
        policy.log_prob(torch.zeros(3)).sum()

    return {text_of(one) for one in seen(step)["diagonal"]}


def test_a_matrix_of_covariances_that_are_all_0_counts_at_the_lines_that_use_it() -> None:
    assert diagonal(torch.diag_embed(torch.rand(6, 3) + 0.1)) == {
        "policy = torch.distributions.MultivariateNormal(mean, covariance)",
        "policy.log_prob(torch.zeros(3)).sum()",
    }
    assert diagonal(torch.eye(3) + 0.1) == set()


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

    with pytest.MonkeyPatch.context() as patch:
        now = itertools.count(0, 10_000)
        patch.setattr("diagnose.run.child.dataflow.dataflow.perf_counter_ns", now.__next__)
        assert told(4) == ["result = result.tanh()"]
        assert told(12) == ["total = total + network(layers)"]


def test_a_call_that_is_over_holds_nothing_until_the_end_of_the_step() -> None:
    gone = []

    def forgets() -> None:
        class Held:
            pass

        held = Held()
        gone.append(weakref.ref(held))
        torch.rand(3) + 1

    def step() -> None:
        forgets()
        torch.rand(3) + 1  # the next call of torch
        gone.append(gone[0]())

    seen(step)
    assert gone[1] is None


# ---- solutions with the same matrix


def test_a_scheme_that_solves_with_one_matrix_at_each_time() -> None:
    conductance = torch.full((40,), 0.5, requires_grad=True)

    def step() -> None:
        matrix = torch.diag(1 + conductance)
        state = torch.ones(40)
        for _ in range(5):
            state = torch.linalg.solve(matrix, state + 1)
        state.sum().backward()

    (told,) = seen(step)["factored"]
    assert text_of(told) == "state = torch.linalg.solve(matrix, state + 1)" and told["call_count"] == 4
    assert 0 < told["left_ns"] < told["ns"] and told["trained_ns"] == 0


def test_a_matrix_that_changes_is_a_new_one() -> None:
    def step() -> None:
        state = torch.ones(40)
        for time in range(5):
            matrix = torch.eye(40) * (1 + time)
            state = torch.linalg.solve(matrix, state + 1)

    assert seen(step)["factored"] == []


# ---- products of nearly empty matrices


def test_a_dense_product_of_an_adjacency() -> None:
    adjacency, features = torch.eye(2000), torch.randn(2000, 64, requires_grad=True)

    def step() -> None:
        hidden = adjacency @ features
        hidden = hidden @ torch.randn(64, 64)

    (product,) = seen(step)["sparse"]
    assert (text_of(product), product["call_count"]) == ("hidden = adjacency @ features", 1)
    # of four million products two thousand are left
    assert product["left_ns"] < 0.5 * product["ns"]
    assert product["trained_ns"] == product["ns"] and features.grad is None


def test_a_layer_that_reads_bags_of_words() -> None:
    """40 of 5,000 words each: as a lookup of the weights' rows a third of the time is left, and less."""
    words = torch.zeros(100, 5_000)
    words[:, :40] = 1.0
    layer = nn.Linear(5_000, 256)

    (product,) = seen(lambda: layer(words).sum())["sparse"]
    assert 0 < product["left_ns"] < 0.7 * product["ns"]
    assert layer.weight.grad is None


def test_a_nearly_empty_matrix_that_is_trained_stays_dense() -> None:
    learned = torch.eye(1000).requires_grad_()
    assert seen(lambda: (learned @ torch.randn(1000, 64)).sum())["sparse"] == []


@pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled:UserWarning")
@pytest.mark.parametrize("is_trained", [False, True])
def test_products_of_a_matrix_kept_by_coordinates_are_tried_by_rows(is_trained: bool) -> None:
    """Of 70,000 numbers: by rows the forward took a third of the time on one core, and the backward all."""
    places, numbers = torch.randint(0, 1000, (2, 70_000)), torch.rand(70_000)
    graph = torch.sparse_coo_tensor(places, numbers, (1000, 1000)).coalesce()
    features = torch.randn(1000, 64, requires_grad=is_trained)

    def step() -> None:
        hidden = features
        for _ in range(2):
            hidden = torch.sparse.mm(graph, hidden)
        hidden = torch.mm(graph.to_dense()[:100, :100], torch.randn(100, 8))

    (product,) = seen(step)["coordinates"]
    assert (text_of(product), product["call_count"]) == ("hidden = torch.sparse.mm(graph, hidden)", 2)
    assert product["left_ns"] < (0.9 if is_trained else 0.7) * product["ns"]
    assert features.grad is None


@pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled:UserWarning")
def test_where_torch_cannot_keep_it_by_rows_nothing_else_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_library(*_: Any) -> Any:
        raise RuntimeError("built without MKL")

    monkeypatch.setattr(guard, "_failures", {})
    monkeypatch.setattr(torch.Tensor, "to_sparse_csr", no_library)
    graph = torch.eye(50).to_sparse()

    def step() -> None:
        torch.sparse.mm(graph, torch.ones(50, 8))

    assert seen(step)["coordinates"] == []
    assert guard.notes() == []


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state:UserWarning")
def test_a_matrix_kept_by_rows_is_not_tried() -> None:
    graph = torch.eye(50).to_sparse_csr()

    def step() -> None:
        graph @ torch.randn(50, 8)

    assert seen(step)["coordinates"] == []


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


# ---- batches of matrices that are there many times


@pytest.mark.parametrize(
    "product",
    [
        lambda tokens, heads: tokens @ heads,  # 256 times the matrices of all 16 heads
        lambda tokens, heads: tokens @ torch.stack([heads] * 256),
    ],
    ids=["copied by torch", "copied by the script"],
)
def test_a_batch_of_products_that_copies_matrices_is_tried_with_einsum(
    product: Callable[[Tensor, Tensor], Tensor],
) -> None:
    """On one core `einsum` took 0.02 of the time."""
    given = torch.randn(256, 1, 1, 32), torch.randn(16, 32, 8, requires_grad=True)

    def step() -> None:
        for _ in range(2):
            product(*given)

    (line,) = seen(step)["matrices"]
    assert text_of(line).startswith("lambda") and line["call_count"] == 2
    assert line["left_ns"] < 0.5 * line["ns"]
    assert line["trained_ns"] == line["ns"]
    assert given[1].grad is None


def test_inside_a_transform_nothing_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_failures", {})
    convolution, heads = nn.Conv1d(4, 4, 3, stride=3), torch.randn(4, 8, 8)

    def loss(weights: dict[str, Tensor]) -> Tensor:
        given = torch.func.functional_call(convolution, weights, (torch.randn(2, 4, 24),))
        for _ in range(ROUNDS):
            given = given @ torch.ones(8, 8) @ heads[:1].expand(2, -1, -1)
        return given.sum()

    def step() -> None:
        torch.func.grad(loss)(dict(convolution.named_parameters()))

    step()  # what it imports takes seconds
    flow = seen(step)
    assert flow["patches"] == flow["matrices"] == []
    assert guard.notes() == []


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (torch.randn(4, 3, 8, 5), torch.randn(4, 3, 5, 6)),  # no matrix is there twice
        (torch.randn(4, 3, 8, 5), torch.randn(5, 6)),  # one product by itself
        (torch.randn(4, 1, 8, 5), torch.randn(4, 1, 5, 6)),
        (torch.randn(4, 8, 5), torch.zeros(4, 5, 6)),  # a first state
        (torch.randn(4, 8, 5), torch.randn(5)),
        (torch.ones(4, 8, 5, dtype=torch.long), torch.ones(1, 5, 6, dtype=torch.long)),
        (torch.randn(4, 0, 5), torch.randn(1, 5, 6)),
    ],
)
def test_other_products_are_not_tried(left: Tensor, right: Tensor) -> None:
    assert without_copies("matmul", [left, right]) is None


def test_einsum_is_given_each_matrix_once() -> None:
    """Of 3 × 4 products the left side has matrices for 3 rows, and the right one for 4 columns."""
    left, right = torch.randn(3, 1, 8, 5), torch.randn(4, 5, 6)
    factors = without_copies("matmul", [left, right.expand(3, -1, -1, -1).clone()])
    assert factors is not None
    shapes = [tuple(factor.tensor.shape) for factor in factors]
    assert (shapes, [factor.letters for factor in factors]) == ([(3, 8, 5), (4, 5, 6)], ["axy", "byz"])
    swapped = without_copies("__rmatmul__", [right, left])
    assert swapped is not None
    assert [factor.letters for factor in swapped] == ["axy", "byz"]


def repeated(step: Callable[[], Any]) -> dict[str, tuple[int, float]]:
    """By the line's text: products of rows that are there many times, and what is left of their time."""
    return {text_of(one): (one["call_count"], one["left_ns"] / one["ns"]) for one in seen(step)["repeated"]}


def test_of_a_decoders_attention_only_what_is_new_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of 6 and 10 numbers: the state, of which each of 8 rows has the same, and the encoder's, the same in
    each of four rounds. By hand: 6/16 · 1/8 of each, and of the first 10/16 besides: 0.203.
    """
    attention, cell = nn.Linear(16, 4), nn.GRUCell(4, 6)
    encoded = torch.randn(5, 8, 10)

    def step() -> None:
        keys, state = encoded * 2, torch.zeros(5, 6)
        for _ in range(4):
            rows = state.unsqueeze(1).repeat(1, 8, 1)
            energy = attention(torch.cat((rows, keys), dim=2))
            state = cell(energy.sum(1), state)

    # all calls take as long: else the first, whose left is most, may take longest
    monkeypatch.setattr(
        "diagnose.run.child.dataflow.dataflow.perf_counter_ns", itertools.count(0, 1000).__next__
    )
    found = repeated(step)
    # of what is copied a quarter is left: 4 numbers of the result are added for 16 copied
    assert found.pop("rows = state.unsqueeze(1).repeat(1, 8, 1)") == (4, pytest.approx(0.25, abs=0.01))
    ((text, (count, left)),) = found.items()
    assert (text, count) == ("energy = attention(torch.cat((rows, keys), dim=2))", 8)
    assert left == pytest.approx((4 * 0.203125 + 4 * 0.25) / 8, abs=1e-3)


def test_of_edges_between_nodes_the_nodes_are_left() -> None:
    """90 edges between 10 nodes: of 6 + 6 numbers of nodes a ninth, of 4 of edges all: (12/9 + 4) / 16. The
    result has as many numbers as are copied, so there is nothing to gain from fewer copies.
    """
    layer = nn.Linear(16, 16)
    nodes, edges = torch.randn(10, 6), torch.randn(90, 4)
    sender, receiver = torch.randint(0, 10, (90,)), torch.randint(0, 10, (90,))

    def step() -> None:
        pairs = torch.cat([nodes[sender], nodes[receiver], edges], dim=-1)
        layer(pairs)

    assert repeated(step) == {"layer(pairs)": (1, pytest.approx(1 / 3, abs=1e-3))}


def test_other_rows_are_multiplied_once_each() -> None:
    layer, other, first, second = nn.Linear(16, 4), nn.Linear(16, 4), torch.randn(40, 8), torch.randn(40, 8)
    chosen = torch.randperm(40)[:20]

    def step() -> None:
        layer(torch.cat([first, second], dim=1))
        layer(torch.cat([second, first], dim=1))  # by other columns
        layer(torch.cat([first[chosen], second[chosen]], dim=1))  # fewer rows than there are
        other(torch.cat([first[:, :4], first.repeat(1, 1)[:, 4:], second], dim=1))
        layer(torch.randn(20, 2, 8).view(20, 16))

    assert repeated(step) == {}


def test_the_same_product_again_is_another_rules() -> None:
    layer, rows = nn.Linear(8, 4), torch.randn(40, 8)

    def step() -> None:
        layer(rows)
        layer(rows)

    assert repeated(step) == {}


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


def test_different_rows_that_a_step_looks_up() -> None:
    """Of a table of 2,000 rows: 3 in one call, 2 more in another, though each has 4 indices. Small tables are
    not counted, nor what is not looked up by whole numbers.
    """
    table, small, tied = nn.Embedding(2_000, 2), nn.Embedding(10, 2), nn.Embedding(1_000, 2)
    bag = nn.EmbeddingBag(3_000, 4)
    indices = torch.tensor([1, 1, 5, 9])

    def step() -> None:
        table(indices), table(torch.tensor([[7, 7], [8, 5]])), small(indices)
        bag(indices, torch.tensor([0, 2]))
        functional.linear(tied(indices), tied.weight[:500])

    assert seen(step)["lookups"] == [
        {"table": [2_000, 2], "rows": 5, "is_tied": False},
        {"table": [3_000, 4], "rows": 3, "is_tied": False},
        {"table": [1_000, 2], "rows": 3, "is_tied": True},
    ]


# ---- attention written out


def attention(queries: Tensor, keys: Tensor, values: Tensor, drop: float = 0.0) -> Tensor:
    scores = queries @ keys.transpose(-2, -1) / queries.size(-1) ** 0.5
    weights = functional.dropout(functional.softmax(scores, -1), drop)
    return weights @ values


def tried_attention(step: Callable[[], Any]) -> dict[str, float]:
    """By the line's text, the share that the fused kernel left."""
    return {text_of(line): line["left_ns"] / line["ns"] for line in seen(step)["attention"]}


def test_attention_that_is_written_out_is_tried_fused() -> None:
    """Of long sequences reading and writing the scores is most of the work, of 50 tokens it is not. The
    script's random numbers stay what they are.
    """

    def left(heads: int, tokens: int, width: int) -> float:
        rows = torch.randn(heads, tokens, width)
        state = torch.random.get_rng_state()
        (told,) = tried_attention(lambda: attention(rows, rows, rows)).items()
        assert told[0] == "return weights @ values"
        assert torch.equal(torch.random.get_rng_state(), state)
        return told[1]

    assert left(16, 512, 32) < 0.9 * left(60, 50, 6)  # 0.3 to 0.7, and 0.9 to 1.0 on one core


def test_attention_by_einsum_is_tried_too() -> None:
    """Whose values have the heads behind the keys."""
    queries, keys, values = (torch.randn(2, 16, 4, 8) for _ in range(3))

    def step() -> None:
        weights = torch.einsum("bqhd,bkhd->bhqk", queries, keys).softmax(-1)
        torch.einsum("bhqk,bkhd->bqhd", weights, values)

    assert list(tried_attention(step)) == ['torch.einsum("bhqk,bkhd->bqhd", weights, values)']


def test_passes_over_the_scores_are_tried_with_them() -> None:
    """The scale and the mask: the division is none, for it is of the queries."""
    rows, mask = torch.randn(4, 16, 8), torch.zeros(16, 16)
    found: list[int] = []

    def step() -> None:
        scores = (rows / 8**0.5) @ rows.transpose(-2, -1)
        for each in (scores, scores + mask, (scores + mask).masked_fill(mask > 0, -1e9)):
            each.softmax(-1) @ rows

    def left(attention: Any, ns: int, *, is_trained: bool) -> float:
        found.append(attention.way.passes)
        return 0.5

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("diagnose.run.child.products.products.left_by_fused", left)
        patch.setattr("diagnose.run.child.products.products.Products._add_tried", lambda *given: given[-1]())
        seen(step)
    assert found == [0, 1, 2]


def test_attention_that_drops_scores_and_that_of_one_query_are_not_tried() -> None:
    rows = torch.randn(4, 16, 8)
    assert tried_attention(lambda: attention(rows, rows, rows, 0.1)) == {}
    assert tried_attention(lambda: attention(rows[:, :1], rows, rows)) == {}
    assert tried_attention(lambda: functional.softmax(rows, -1) @ torch.randn(8, 3)) == {}


def test_written_attention_within_blocks_is_told_with_all_its_calls() -> None:
    """Eight blocks of 32: 8 of 64 tiles hold pairs that count."""
    rows, block = torch.randn(2, 3, 256, 4), torch.arange(256) // 32
    others = block[:, None] != block

    def step() -> None:
        scores = rows @ rows.transpose(-2, -1)
        scores = scores.masked_fill(others, float("-inf"))
        weights = scores.softmax(-1)
        weights = functional.dropout(weights, 0.1)
        weights @ rows

    told = {text_of(line): line["left_ns"] / line["ns"] for line in seen(step)["masked"]}
    left = pytest.approx(0.1 + 2.6 * 8 / 64, rel=1e-3)
    assert told == {
        "scores = rows @ rows.transpose(-2, -1)": left,
        'scores = scores.masked_fill(others, float("-inf"))': left,
        "weights = scores.softmax(-1)": left,
        "weights = functional.dropout(weights, 0.1)": left,
        "weights @ rows": left,
    }


def test_written_attention_of_which_a_mask_leaves_much_is_not_told() -> None:
    rows, causal = torch.randn(2, 256, 4), torch.ones(256, 256).tril() == 0

    def step() -> None:
        scores = rows @ rows.transpose(-2, -1)
        (scores.softmax(-1) @ rows).sum()
        scores.masked_fill(causal, float("-inf")).softmax(-1) @ rows

    assert seen(step)["masked"] == []


# ---- recurrent modules for one time step


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


# ---- rows that are moved number by number


@pytest.mark.parametrize("in_place", [False, True])
def test_rows_moved_by_number_are_tried_as_rows(in_place: bool) -> None:
    """With the call that repeats the index, which nobody else needs."""
    rows, index = torch.randn(20_000, 64, requires_grad=True), torch.randint(2000, (20_000,))

    def step() -> None:
        numbers = index[:, None].repeat(1, 64)
        if in_place:
            torch.zeros(2000, 64).scatter_add_(0, numbers, rows).sum().backward()
        else:
            torch.zeros(2000, 64).scatter_add(0, numbers, rows).sum().backward()
        rows.gather(0, torch.randint(2000, (20_000, 64)))

    line = (
        "torch.zeros(2000, 64).scatter_add"
        + ("_" if in_place else "")
        + "(0, numbers, rows).sum().backward()"
    )
    told = {text_of(found): found for found in seen(step)["by_number"]}
    assert set(told) == {line, "numbers = index[:, None].repeat(1, 64)"}
    assert told[line]["call_count"] == 1 and told[line]["left_ns"] < 0.85 * told[line]["ns"]
    assert told[line]["trained_ns"] == told[line]["ns"]
    assert told["numbers = index[:, None].repeat(1, 64)"]["left_ns"] == 0
