"""Modules whose gradients nobody uses: found by their parameters, marked at their calls."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import TypeVar

import pytest
import torch
from torch import nn

from diagnose.run.child.facts.untrained import Untrained, needs_gradients, untrained
from diagnose.run.child.places import Places

Module = TypeVar("Module", bound=nn.Module)


class Head(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
        self.head = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.encoder(x))  # type: ignore[no-any-return]


def ids(module: nn.Module) -> set[int]:
    return {id(parameter) for parameter in module.parameters()}


def trained_once(model: Module) -> Module:
    model(torch.ones(1, 4)).sum().backward()
    return model


def test_the_outermost_module_without_a_trained_parameter_is_found() -> None:
    model = trained_once(Head())
    assert list(untrained(model, ids(model.head))) == [model.encoder]


def test_what_is_trained_or_gets_no_gradients_is_not() -> None:
    model = trained_once(Head())
    assert not list(untrained(model, ids(model)))
    frozen = Head()
    frozen.encoder.requires_grad_(False)
    assert not list(untrained(trained_once(frozen), ids(frozen.head)))
    assert not list(untrained(Head(), ids(nn.Linear(1, 1))))  # no backward yet


@pytest.fixture
def marks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []

    class Mark:
        def __init__(self, name: str) -> None:
            names.append(name.split("|")[0].removeprefix("diagnose::"))

        def __enter__(self) -> None: ...
        def __exit__(self, *error: object) -> None: ...

    monkeypatch.setattr("diagnose.run.child.facts.untrained.mark", Mark)
    return names


def watching(model: nn.Module, parameters: nn.Module, folder: Path) -> Untrained:
    return recorded_once(model, torch.optim.SGD(parameters.parameters(), lr=0.1), folder)


def recorded_once(model: nn.Module, optimizer: torch.optim.Optimizer, folder: Path) -> Untrained:
    watch = Untrained(
        Places(str(folder), str(folder)),
        lambda: [model],
        lambda: [optimizer],
        lambda kind: (nn.Module, "__call__"),
    )
    watch.install()
    trained_once(model)
    watch.remove()  # the end of a recording: now they are known
    return watch


def test_calls_are_marked_from_the_second_recording_on(marks: list[str], tmp_path: Path) -> None:
    model = Head()
    watch = watching(model, model.head, tmp_path)
    assert marks == []
    watch.install()
    trained_once(model)
    with torch.no_grad():
        model(torch.ones(1, 4))
    model(torch.ones(1, 4, requires_grad=True))  # something before it may be trained
    with pytest.raises(RuntimeError):
        model(torch.ones(1, 3))
    trained_once(model)
    # the third call's encoder, given what needs gradients, and the one that failed
    assert marks == ["untrained", "untrained_through", "untrained", "untrained"]
    called = nn.Module.__call__
    watch.remove()
    assert nn.Module.__call__ is not called


def test_the_script_may_save_and_copy_its_model_while_it_is_marked(marks: list[str], tmp_path: Path) -> None:
    model = Head()
    watch = watching(model, model.head, tmp_path)
    watch.install()
    copied = copy.deepcopy(model)
    assert pickle.loads(pickle.dumps(model)).encoder
    for module in (model.encoder, copied.encoder):
        assert not module._forward_hooks and not module._forward_pre_hooks
    trained_once(copied)
    assert marks == []  # a copy is no module that was found
    watch.remove()


def test_a_call_that_goes_on_when_the_recording_ends_is_closed_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    closed: list[str] = []

    class Mark:
        def __init__(self, name: str) -> None: ...
        def __enter__(self) -> None: ...
        def __exit__(self, *error: object) -> None:
            closed.append("once")

    monkeypatch.setattr("diagnose.run.child.facts.untrained.mark", Mark)
    model = Head()
    watch = watching(model, model.head, tmp_path)
    watch.install()
    model.encoder[1].register_forward_hook(lambda *_: watch.remove())
    trained_once(model)
    assert closed == ["once"]


class Perceptual(nn.Module):
    """Compares features of what was made with those of what was wanted."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def forward(self, made: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        return (self.features(made) - self.features(wanted)).abs()  # type: ignore[no-any-return]


class Restoring(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.restorer, self.loss = nn.Linear(4, 4), Perceptual()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.loss(self.restorer(x), x)  # type: ignore[no-any-return]


def test_inside_of_what_is_trained_through_calls_that_need_no_gradients_are_marked(
    marks: list[str], tmp_path: Path
) -> None:
    """The loss is trained through; the features of what was wanted need no gradients, nor do their layers."""
    model = Restoring()
    watch = watching(model, model.restorer, tmp_path)
    watch.install()
    trained_once(model)
    watch.remove()
    assert marks == ["untrained_through", "untrained"]


def test_an_optimizer_with_copies_of_the_parameters_says_nothing(marks: list[str], tmp_path: Path) -> None:
    model = Head()
    watch = watching(model, Head(), tmp_path)
    watch.install()
    trained_once(model)
    assert marks == []


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Linear(4, 4)
        self.blocks = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embedding(x) + 1
        for block in self.blocks:
            x = block(x)
        return x


def groups(model: Layers, lr: float) -> list[dict[str, object]]:
    """Embedding and first block at this learning rate, the rest at 0.1."""
    lower = [*model.embedding.parameters(), *model.blocks[0].parameters()]
    return [{"params": lower, "lr": lr}, {"params": model.blocks[1:].parameters(), "lr": 0.1}]


def test_a_learning_rate_of_0_trains_nothing_however_many_layers_follow_each_other(
    marks: list[str], tmp_path: Path
) -> None:
    model = Layers()
    watch = recorded_once(model, torch.optim.SGD(groups(model, 0.0), lr=0.1), tmp_path)
    watch.install()
    trained_once(model)
    assert marks == ["untrained"] * 2  # the embedding and the block behind it, not those after
    watch.remove()


def test_a_schedule_that_begins_with_0_trains(marks: list[str], tmp_path: Path) -> None:
    scheduled, by_hand = Layers(), Layers()
    optimizer = torch.optim.SGD(groups(scheduled, 0.2), lr=0.1)
    torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: step / 10)
    assert optimizer.param_groups[0]["lr"] == 0
    other = torch.optim.SGD(groups(by_hand, 0.0), lr=0.1)
    watches = [recorded_once(scheduled, optimizer, tmp_path), recorded_once(by_hand, other, tmp_path)]
    other.param_groups[0]["lr"] = 0.2  # before the next recording
    for watch, model in zip(watches, (scheduled, by_hand), strict=True):
        watch.install()
        trained_once(model)
        watch.remove()
    assert marks == []


class Doubled(torch.autograd.Function):
    """May hold parameters that its node does not show."""

    @staticmethod
    def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: object, *gradients: torch.Tensor) -> torch.Tensor:
        return gradients[0] * 2


def test_what_depends_on_wasted_parameters_alone_needs_no_gradients() -> None:
    wasted, trained = nn.Linear(4, 4), nn.Linear(4, 4)
    x = torch.ones(1, 4)
    assert not needs_gradients([wasted(x) + 1, wasted.bias], ids(wasted))
    assert needs_gradients([wasted(trained(x))], ids(wasted))
    assert needs_gradients([wasted(x.clone().requires_grad_())], ids(wasted))  # as of an attack
    assert needs_gradients([trained.bias], ids(wasted))
    assert needs_gradients([Doubled.apply(wasted(x))], ids(wasted))
