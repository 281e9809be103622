"""What is taken for a step where an optimizer is given a closure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim.optimizer import Optimizer, _global_optimizer_pre_hooks

from diagnose.run.child.phases.schedule import period
from diagnose.run.child.steps import clock as clock_module
from diagnose.run.child.steps.clock import Clock


class Listener:
    """Counts the ticks of the clock in use, and the optimizer's steps that were none."""

    def __init__(self) -> None:
        self.ticks = self.others = 0
        self.kinds: list[str] = []
        self.sources: list[object] = []

    def tick(self, source: object) -> None:
        self.ticks += 1
        self.sources.append(source)

    def clock_upgraded(self, kind: str) -> None:
        self.ticks = 0
        self.kinds.append(kind)

    def optimizer_constructed(self, optimizer: Optimizer, frame: FrameType) -> None: ...

    def optimizer_stepped(self) -> None:
        self.others += 1


@pytest.fixture
def listener() -> Iterator[Listener]:
    heard = Listener()
    clock = Clock(heard)
    clock.install()
    yield heard
    clock.remove()
    clock.take_out_hook()


class Loop:
    """A small model, its closure, and how often that was called."""

    def __init__(self, backwards: int = 1) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        self.x = torch.randn(16, 4, requires_grad=True)
        self.backwards, self.calls = backwards, 0
        self.optimizer: Any = None

    def loss(self) -> torch.Tensor:
        return (self.model(self.x) - self.x.sum(1, keepdim=True).sin()).square().mean()

    def closure(self) -> torch.Tensor:
        self.calls += 1
        self.optimizer.zero_grad()
        for _ in range(self.backwards):
            loss = self.loss()
            loss.backward()  # type: ignore[no-untyped-call]
        return loss

    def train(self, optimizer: Callable[..., Any], steps: int, **settings: Any) -> None:
        self.optimizer = optimizer(self.model.parameters(), lr=0.1, **settings)
        for _ in range(steps):
            self.optimizer.step(self.closure)


def lbfgs(parameters: Any, **settings: Any) -> torch.optim.LBFGS:
    return torch.optim.LBFGS(parameters, tolerance_grad=0, tolerance_change=0, **settings)


def test_each_evaluation_of_lbfgs_is_a_step(listener: Listener) -> None:
    loop = Loop()
    loop.train(lbfgs, 2, max_iter=20)
    assert loop.calls == 40
    assert listener.kinds == ["backward"]
    assert listener.ticks == 40 - 7  # from the eighth on it is known
    assert listener.others == 2


def test_an_evaluation_is_one_step_however_many_backward_passes_it_makes(listener: Listener) -> None:
    loop = Loop()
    derivatives = loop.loss

    def physics() -> torch.Tensor:
        (slope,) = torch.autograd.grad(loop.model(loop.x).sum(), loop.x, create_graph=True)
        return derivatives() + slope.square().mean()

    loop.loss = physics  # type: ignore[method-assign]
    loop.train(lbfgs, 1, max_iter=20)
    assert (listener.kinds, listener.ticks) == (["backward"], 20 - 7)


def test_after_lbfgs_backward_passes_go_on_ticking(listener: Listener) -> None:
    loop = Loop()
    loop.train(lbfgs, 1, max_iter=10)
    ticks = listener.ticks
    loop.optimizer = torch.optim.SGD(loop.model.parameters(), lr=0.1)
    for _ in range(5):
        loop.closure()
        loop.optimizer.step()
    assert listener.ticks == ticks + 5


class TwoSteps(Optimizer):
    """As sharpness-aware minimization does: the gradient is taken again, beside the parameters."""

    def __init__(self, parameters: Any, lr: float) -> None:
        super().__init__(parameters, {"lr": lr})

    def step(self, closure: Any = None) -> Any:
        for move in (1e-3, -0.1):
            with torch.enable_grad():
                loss = closure()
            with torch.no_grad():
                for parameter in self.param_groups[0]["params"]:
                    parameter += move * parameter.grad
        return loss


@pytest.mark.parametrize(
    ("optimizer", "backwards", "settings"),
    [
        (torch.optim.Adam, 1, {}),  # as Lightning does
        (torch.optim.Adam, 16, {}),  # the gradients of many parts of a batch are summed up inside the closure
        (TwoSteps, 1, {}),
        (lbfgs, 1, {"max_iter": 5}),
    ],
    ids=["one", "accumulated", "sharpness", "few"],
)
def test_an_optimizer_that_evaluates_a_few_times_makes_one_step(
    listener: Listener, optimizer: Callable[..., Any], backwards: int, settings: dict[str, Any]
) -> None:
    Loop(backwards).train(optimizer, 10, **settings)
    assert (listener.kinds[-1], listener.ticks, listener.others) == ("optimizer", 10, 0)


def test_backward_passes_between_the_optimizers_steps_are_accumulation(listener: Listener) -> None:
    loop = Loop(backwards=12)
    loop.optimizer = torch.optim.SGD(loop.model.parameters(), lr=0.1)
    for _ in range(10):
        loop.closure()
        loop.optimizer.step()
    assert (listener.kinds[-1], listener.ticks) == ("optimizer", 10)


def test_what_a_clock_of_forwards_recorded_does_not_reach_into_the_next_recording(listener: Listener) -> None:
    loop = Loop()
    with torch.no_grad():
        for _ in range(3):
            loop.model(loop.x)
    assert (listener.kinds, listener.ticks) == (["forward"], 3)
    loop.train(lbfgs, 2, max_iter=20)
    assert (listener.kinds, listener.ticks) == (["forward", "backward"], 20)  # those of the second step


def test_nothing_is_left_in_torch() -> None:
    before = torch.autograd._engine_run_backward  # type: ignore[attr-defined]
    hooks = _global_optimizer_pre_hooks
    clock = Clock(Listener())
    clock.install()
    assert hooks
    Loop().train(torch.optim.SGD, 1)
    assert torch.autograd._engine_run_backward is before  # type: ignore[attr-defined]
    assert not hooks
    clock.remove()
    clock.take_out_hook()


# captured graphs


class Graph:
    def replay(self) -> None: ...


@pytest.fixture
def graph(monkeypatch: pytest.MonkeyPatch) -> Graph:
    """To be asked for before `listener`."""
    monkeypatch.setattr(clock_module, "graph_classes", lambda: [Graph])
    return Graph()


def optimizer_step() -> None:
    torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1).step()


def test_replays_tick_once_nothing_else_does(graph: Graph, listener: Listener) -> None:
    optimizer_step()
    for _ in range(50):
        graph.replay()
    assert (listener.kinds, listener.ticks) == (["optimizer"], 1)
    graph.replay()
    graph.replay()
    assert (listener.kinds, listener.ticks) == (["optimizer", "replay"], 2)


def test_replays_between_steps_of_an_optimizer_do_not_tick_for_long(graph: Graph, listener: Listener) -> None:
    for _ in range(4):
        for _ in range(60):
            graph.replay()
        optimizer_step()
    assert (listener.kinds, listener.ticks) == (["replay", "optimizer"], 4)


def test_what_happens_while_a_graph_is_captured_is_no_step(
    graph: Graph, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock_module, "is_capturing", lambda: True)
    optimizer_step()
    nn.Linear(2, 2)(torch.ones(2, requires_grad=True)).sum().backward()
    assert (listener.kinds, listener.ticks) == ([], 0)


def test_models_that_answer_in_turn_are_told_apart(listener: Listener) -> None:
    """A service calls two of them for each request: a step is two ticks."""
    encoder, judge = nn.Linear(4, 4), nn.Linear(4, 1)
    with torch.no_grad():
        for _ in range(3):
            judge(encoder(torch.randn(2, 4)))
    assert listener.sources == [encoder, judge] * 3


# ---- where nothing is trained


class Speller(nn.Module):
    """Answers in a method of its own, which calls its parts more often for longer words."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Linear(4, 4), nn.Linear(4, 4)

    @torch.no_grad()
    def spell(self, x: torch.Tensor, length: int) -> torch.Tensor:
        return self._letters(self.encoder(x), length)

    def _letters(self, state: torch.Tensor, length: int) -> torch.Tensor:
        for _ in range(length):
            state = self.decoder(state)
        return state


def test_a_step_is_a_call_of_the_method_that_calls_the_model_s_parts(listener: Listener) -> None:
    """However many parts it calls. The first answer is under way when its method is found; with the third
    one more its calls are taken for steps.
    """
    model, method = Speller(), Speller.spell
    for length in (5, 2, 3, 1, 4, 2):
        model.spell(torch.ones(1, 4), length)

    assert listener.kinds == ["forward", "answer"]
    assert listener.ticks == 3  # the fourth, fifth and sixth
    assert Speller.spell is not method


def test_the_method_is_as_it_was_afterwards() -> None:
    method, heard = vars(Speller)["spell"], Listener()
    clock = Clock(heard)
    clock.install()
    model = Speller()
    for _ in range(6):
        model.spell(torch.ones(1, 4), 2)
    kept, ticks = model.spell, heard.ticks
    clock.remove()
    clock.take_out_hook()
    kept(torch.ones(1, 4), 2)

    assert vars(Speller)["spell"] is method and kept.__func__ is not method
    assert heard.ticks == ticks


def test_a_loop_inside_a_method_ends_no_step(listener: Listener) -> None:
    class Service(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Linear(4, 4)

        def serve(self, requests: int) -> None:
            for _ in range(requests):
                self.net(torch.ones(1, 4))

    Service().serve(100)

    assert listener.kinds == ["forward"]
    assert listener.ticks == 100


def test_a_model_that_calls_itself_for_each_word_steps_by_word(listener: Listener) -> None:
    class Writer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.net(x)

        def generate(self, x: torch.Tensor) -> torch.Tensor:
            for _ in range(5):
                x = self(x)
            return x

    model = Writer()
    for _ in range(6):
        model.generate(torch.ones(1, 4))

    assert listener.kinds == ["forward"]
    assert listener.ticks == 6 * 5


def test_calls_with_the_same_input_are_told_from_the_first(listener: Listener) -> None:
    model = nn.Linear(4, 4)
    for _ in range(2):
        x = torch.ones(1, 4)
        for _ in range(3):
            model(x)

    first, *others = listener.sources
    assert first is model
    assert [source is model for source in others] == [False, False, True, False, False]
    assert len({id(source) for source in listener.sources}) == 2
    assert period([id(source) for source in listener.sources]) == 3


def test_one_input_for_ever_is_a_step_a_call(listener: Listener) -> None:
    model, x = nn.Linear(4, 4), torch.ones(1, 4)
    for _ in range(12):
        model(x)

    assert period([id(source) for source in listener.sources], newest_at=1) == 1
