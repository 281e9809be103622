"""Gradients that are cleared before they are used: of small models trained here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from diagnose.run.child.facts.graph_use import GraphUse
from diagnose.run.child.places import Places

HERE = Path(__file__)
LINES = HERE.read_text().splitlines()


class Job:
    """A generator and a discriminator, their optimizers, and what is told of them."""

    def __init__(self) -> None:
        self.uses = GraphUse(Places(str(HERE.parent), str(HERE.parent)))
        self.g, self.d = nn.Linear(2, 4), nn.Linear(4, 1)
        self.optimizers = {id(net): torch.optim.SGD(net.parameters(), 0.1) for net in (self.g, self.d)}

    def call(self, net: nn.Module, x: torch.Tensor) -> torch.Tensor:
        with self.uses.watched(net, sys._getframe(1)) or nullcontext():
            return net(x)  # type: ignore[no-any-return]

    def step(self, net: nn.Module) -> None:
        self.uses.cleared.steps(self.optimizers[id(net)])
        self.optimizers[id(net)].step()

    def clear(self, owner: Any) -> None:
        owner = self.optimizers.get(id(owner), owner)
        self.uses.cleared.clears(owner)
        owner.zero_grad()

    def told(self, *, through: bool = False) -> dict[str, tuple[int, int]]:
        """By the line's text: calls whose backward was for nothing, and those whose was not. ``through``: of
        calls through which something else is trained.
        """
        return {
            LINES[one["line"] - 1].strip(): (one["wasted_count"], one["useful_count"])
            for one in self.uses.cleared.facts()
            if one["through"] == through
        }


def rounds(job: Job, one_round: Callable[[], None]) -> dict[str, tuple[int, int]]:
    for _ in range(4):
        one_round()
    return job.told()


def test_a_generator_that_is_not_detached_goes_backward_for_nothing() -> None:
    job = Job()

    def one_round() -> None:
        job.clear(job.d)
        fake = job.call(job.g, torch.randn(3, 2))
        (job.call(job.d, torch.randn(3, 4)).mean() - job.call(job.d, fake).mean()).backward()
        job.step(job.d)
        job.clear(job.g)
        image = job.call(job.g, torch.randn(3, 2))
        job.call(job.d, image).mean().backward()
        job.step(job.g)

    assert rounds(job, one_round) == {"fake = job.call(job.g, torch.randn(3, 2))": (4, 0)}
    # the generator is trained through it
    assert job.told(through=True) == {"job.call(job.d, image).mean().backward()": (3, 0)}


class Scored(nn.Linear):
    """Whose loss is a method of its own, as where the architecture is searched for."""

    def loss(self, job: Job, x: torch.Tensor) -> torch.Tensor:
        return job.call(self, x).mean()


def test_the_caller_of_a_models_own_method_is_told_beside_the_call() -> None:
    job = Job()
    job.d = Scored(4, 1)
    job.optimizers[id(job.d)] = torch.optim.SGD(job.d.parameters(), 0.1)

    def one_round() -> None:
        loss = job.d.loss(job, torch.randn(3, 4))  # type: ignore[operator]
        loss.backward()
        job.clear(job.d)

    assert rounds(job, one_round) == {"return job.call(self, x).mean()": (4, 0)}
    (told,) = job.uses.cleared.facts()
    assert "loss = job.d.loss" in LINES[told["caller"]["line"] - 1]


@pytest.mark.parametrize(
    "how", ["detached", "accumulated", "cleared after the step", "cleared by the module"]
)
def test_what_is_used_is_not_for_nothing(how: str) -> None:
    job = Job()

    def one_round() -> None:
        if how != "cleared after the step":
            job.clear(job.g if how == "cleared by the module" else job.optimizers[id(job.g)])
        for _ in range(3 if how == "accumulated" else 1):
            job.call(job.g, torch.randn(3, 2)).mean().backward()
        if how == "detached":
            job.clear(job.d)
            fake = job.call(job.g, torch.randn(3, 2)).detach()
            job.call(job.d, fake).mean().backward()
            job.step(job.d)
        job.step(job.g)
        if how == "cleared after the step":
            job.clear(job.g)

    assert rounds(job, one_round) == {}


@pytest.mark.parametrize("new_objects", [False, True])
def test_gradients_of_inputs_alone_leave_those_of_weights_as_they_are(new_objects: bool) -> None:
    """As of an energy that is sampled from: the weights' gradients are those of the last step, and be it that
    Python has other objects for them.
    """
    job = Job()

    def one_round() -> None:
        x = torch.randn(3, 2)
        torch.autograd.grad(job.call(job.g, x).sum(), job.g.weight)
        for parameter in job.g.parameters() if new_objects else ():
            parameter.grad = None if parameter.grad is None else parameter.grad.detach()
        job.clear(job.g)
        job.call(job.g, x).mean().backward()
        job.step(job.g)

    assert rounds(job, one_round) == {}


@pytest.mark.parametrize("trained", ["nothing", "another model", "what it is given"])
def test_behind_a_model_through_which_nothing_else_is_trained_all_is_for_nothing(trained: str) -> None:
    """An actor is trained on what a decoder of two layers proposes; the decoder's gradients are cleared before
    its own loss. The second layer is given what the first one's weights made, which no one trains here.
    """
    job, actor, start = Job(), nn.Linear(4, 4), torch.zeros(3, 2, requires_grad=True)
    decoder, second = job.g, nn.Linear(4, 4)
    both = torch.optim.SGD([*decoder.parameters(), *second.parameters()], 0.1)
    optimizers = {id(actor): torch.optim.SGD(actor.parameters(), 0.1)}

    def one_round() -> None:
        given = job.call(actor, torch.randn(3, 4)) if trained == "another model" else torch.randn(3, 4)
        hidden = job.call(decoder, start if trained == "what it is given" else torch.randn(3, 2))
        proposed = job.call(second, hidden + given)
        job.call(actor, proposed).mean().backward()
        job.uses.cleared.steps(optimizers[id(actor)])
        optimizers[id(actor)].step()
        job.clear(both)

    rounds(job, one_round)
    hidden, proposed = (
        'hidden = job.call(decoder, start if trained == "what it is given" else torch.randn(3, 2))',
        "proposed = job.call(second, hidden + given)",
    )
    expected = {
        "nothing": ({hidden, proposed}, set()),
        "another model": ({hidden}, {proposed}),
        "what it is given": (set(), {hidden, proposed}),
    }
    assert (set(job.told()), set(job.told(through=True))) == expected[trained]
