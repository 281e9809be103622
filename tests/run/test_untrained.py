"""Modules whose gradients nobody uses: found by their parameters, marked at their calls."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from diagnose.run.child.places import Places
from diagnose.run.child.untrained import Untrained, untrained


class Head(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
        self.head = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.encoder(x))  # type: ignore[no-any-return]


def ids(module: nn.Module) -> set[int]:
    return {id(parameter) for parameter in module.parameters()}


def trained_once(model: Head) -> Head:
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
            names.append(name.split("|")[0])

        def __enter__(self) -> None: ...
        def __exit__(self, *error: object) -> None: ...

    monkeypatch.setattr("diagnose.run.child.untrained.mark", Mark)
    return names


def watching(model: Head, parameters: nn.Module, folder: Path) -> Untrained:
    optimizer = torch.optim.SGD(parameters.parameters(), lr=0.1)
    watch = Untrained(Places(str(folder), str(folder)), lambda: [model], lambda: [optimizer])
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
    assert marks == ["diagnose::untrained"] * 3  # the call that failed was one of them
    watch.remove()
    assert not model.encoder._forward_hooks and not model.encoder._forward_pre_hooks


def test_an_optimizer_with_copies_of_the_parameters_says_nothing(marks: list[str], tmp_path: Path) -> None:
    model = Head()
    watch = watching(model, Head(), tmp_path)
    watch.install()
    trained_once(model)
    assert marks == []
