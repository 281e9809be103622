"""What copies of a script's modules do leaves the script's own objects as they are."""

from __future__ import annotations

import copy
import functools
import random
from types import MethodType
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from diagnose.run.child.trials.layout_look import LayoutLook
from tests.run.trials.looking import looking_at
from tests.run.trials.test_layout_look import Net


def look_at_one_call(model: nn.Module, pictures: Tensor, **options: Any) -> None:
    """After it weights, statistics, gradients and what was given stay as they are."""
    look, scale = looking_at(LayoutLook, model), {"by": torch.ones(())}
    assert look.begin()
    model(pictures, scale, **options).sum().backward()
    after = (model.state_dict(), [one.grad for one in model.parameters()], pictures, scale["by"])
    state, gradients, given, by = copy.deepcopy(after)
    assert look.step() and look.facts and len(look.facts[0]["as_is_ms"]) >= 5
    for name, value in model.state_dict().items():
        assert torch.equal(value, state[name]), name
    for one, gradient in zip(model.parameters(), gradients, strict=True):
        assert one.grad is not None and torch.equal(one.grad, gradient)
    assert torch.equal(pictures, given) and torch.equal(scale["by"], by)


class Holding(Net):
    """Its layer, called by a method of its own that it holds."""

    def __init__(self, *, partly: bool) -> None:
        super().__init__()
        self.activation = functools.partial(self.normed, 2.0) if partly else self.twice_normed

    def normed(self, by: float, x: Tensor) -> Tensor:
        return torch.relu(self.norm(self.first(x)) * by)

    def twice_normed(self, x: Tensor) -> Tensor:
        return self.normed(2.0, x)

    def forward(self, x: Tensor, scale: dict[str, Tensor]) -> Tensor:
        return self.head(self.flat(torch.relu(self.second(self.activation(x)))) * scale["by"])


@pytest.mark.parametrize("partly", [False, True])
def test_a_method_that_a_module_holds_is_the_copys_there(partly: bool) -> None:
    look_at_one_call(Holding(partly=partly), torch.randn(4, 3, 16, 16))


def test_a_forward_that_was_put_in_place_of_a_modules_is_the_copys_there() -> None:
    model = Net()

    def forward(self: Net, x: Tensor, scale: dict[str, Tensor]) -> Tensor:
        return Net.forward(self, x * 2, scale)

    model.forward = MethodType(forward, model)  # type: ignore[method-assign]
    look_at_one_call(model, torch.randn(4, 3, 16, 16))


class Logger:
    def __init__(self) -> None:
        self.calls = 0

    def log(self) -> None:
        self.calls += 1

    def __deepcopy__(self, memo: Any) -> Any:
        raise AssertionError("copied")


class Logging(Net):
    def __init__(self, logger: Logger) -> None:
        super().__init__()
        self.log = logger.log

    def forward(self, x: Tensor, scale: dict[str, Tensor]) -> Tensor:
        self.log()
        return super().forward(x, scale)


def test_a_method_of_something_else_is_shared() -> None:
    logger = Logger()
    look_at_one_call(Logging(logger), torch.randn(4, 3, 16, 16))
    assert logger.calls > 1


class Drawing(Net):
    """With generators of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.of_torch, self.of_python = torch.Generator().manual_seed(1), random.Random(1)
        self.of_numpy, self.of_old_numpy = np.random.default_rng(1), np.random.RandomState(1)

    def drawn(self) -> tuple[float, ...]:
        of_torch = float(torch.rand((), generator=self.of_torch))
        return of_torch, self.of_python.random(), self.of_numpy.random(), self.of_old_numpy.rand()

    def forward(self, x: Tensor, scale: dict[str, Tensor]) -> Tensor:
        return super().forward(x + sum(self.drawn()), scale)


def test_copies_draw_from_generators_of_their_own() -> None:
    model, other = Drawing(), Drawing()
    look_at_one_call(model, torch.randn(4, 3, 16, 16))
    other.drawn()  # once, in the script's own call
    assert model.drawn() == other.drawn()


class DrawingFromWhatIsGiven(Net):
    def forward(self, x: Tensor, scale: dict[str, Tensor], generator: Any = None) -> Tensor:
        return super().forward(x + torch.rand((), generator=generator), scale)


def test_copies_do_not_draw_from_a_generator_that_is_given() -> None:
    generator, other = torch.Generator().manual_seed(1), torch.Generator().manual_seed(1)
    look_at_one_call(DrawingFromWhatIsGiven(), torch.randn(4, 3, 16, 16), generator=generator)
    torch.rand((), generator=other)  # once, in the script's own call
    assert torch.equal(generator.get_state(), other.get_state())


class Centering(Net):
    def forward(self, x: Tensor, scale: dict[str, Tensor]) -> Tensor:
        scale["by"].mul_(0.5)
        return super().forward(x.sub_(1.0), scale)


def test_what_a_forward_writes_to_is_no_batch_of_the_scripts() -> None:
    pictures = torch.zeros(4, 3, 16, 16)
    look_at_one_call(Centering(), pictures)
    assert torch.equal(pictures, torch.full_like(pictures, -1.0))  # by the script's own call
