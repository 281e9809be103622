"""Fixes of optimizers: fused, by lists, gradients that become None."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from .trying import Apply, OnGpu, losses, told


def test_gradients_become_none_and_the_losses_stay_the_same_bits(apply: Apply) -> None:
    plain = losses()
    zeroing = apply("zero_grad")
    assert losses() == plain
    assert told(zeroing) == (5, "")
    model = nn.Linear(1, 1)
    model(torch.ones(1)).backward()
    model.zero_grad(False)
    assert model.weight.grad is None
    model.zero_grad()
    assert zeroing.held == 6


@pytest.mark.parametrize("make", [torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD, torch.optim.Adagrad])
def test_fused_optimizers(apply: Apply, make: Any) -> None:
    plain = losses(make=make)
    fusing = apply("optimizer", fused=True)
    assert losses(make=make, foreach=True) == pytest.approx(plain, rel=1e-4)
    assert told(fusing) == (1, "")
    optimizer = make(
        [
            {"params": [nn.Parameter(torch.ones(1))]},
            {"params": iter([nn.Parameter(torch.ones(1))]), "lr": 0.5},
        ]
    )
    assert [(group["fused"], group["foreach"]) for group in optimizer.param_groups] == [(True, None)] * 2
    assert fusing.held == 2
    # what is saved when a trial has been stopped is as the script would save it
    fusing.remove()
    assert [(group["fused"], group["foreach"]) for group in optimizer.param_groups] == [(None, None)] * 2


def test_foreach_optimizers(apply: Apply) -> None:
    plain = losses(make=torch.optim.RMSprop)
    changing = apply("optimizer", foreach=True)
    assert losses(make=torch.optim.RMSprop) == pytest.approx(plain, rel=1e-4)
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))])
    assert optimizer.param_groups[0]["foreach"]
    assert told(changing) == (2, "")
    torch.optim.SGD([nn.Parameter(torch.ones(1))], fused=True)
    assert changing.held == 2


def test_optimizers_without_foreach(apply: Apply) -> None:
    plain = losses(make=torch.optim.RMSprop, foreach=True)
    changing = apply("optimizer", foreach=False)
    assert losses(make=torch.optim.RMSprop, foreach=True) == pytest.approx(plain, rel=1e-4)
    optimizer = torch.optim.RMSprop([nn.Parameter(torch.ones(1))], foreach=True)
    assert optimizer.param_groups[0]["foreach"] is False
    assert told(changing) == (2, "")


def test_foreach_is_what_torch_chooses_on_a_gpu(apply: Apply) -> None:
    changing = apply("optimizer", foreach=True)
    optimizer = torch.optim.SGD([{"params": [torch.ones(1).as_subclass(OnGpu).requires_grad_()]}])
    assert optimizer.param_groups[0]["foreach"] is None
    assert told(changing) == (0, "Nothing to change: on a GPU torch uses foreach by default.")


class Custom(torch.optim.Optimizer):
    def __init__(self, params: Any) -> None:
        super().__init__(params, {})


def test_optimizers_that_cannot_be_fused(apply: Apply) -> None:
    fusing = apply("optimizer", fused=True)
    Custom([nn.Parameter(torch.ones(1))])
    assert told(fusing) == (0, "Custom has no fused implementation.")
    with pytest.raises(TypeError, match="params argument given to the optimizer"):
        torch.optim.SGD(torch.ones(1))
    with pytest.raises(TypeError, match="not iterable"):
        torch.optim.SGD(3)
    # torch refuses it, now or at the first step
    parameters = iter([nn.Parameter(torch.ones(1, dtype=torch.complex64))])
    optimizer = torch.optim.SGD(parameters)
    optimizer.param_groups[0]["params"][0].grad = torch.ones(1, dtype=torch.complex64)
    optimizer.step()
    assert (len(optimizer.param_groups[0]["params"]), optimizer.param_groups[0]["fused"], fusing.held) == (
        1,
        False,
        0,
    )


def test_an_optimizer_that_torch_refuses_to_fuse_is_made_as_it_was(
    apply: Apply, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(
        optimizer: Any,
        params: Any,
        lr: float = 0.1,
        *,
        foreach: bool | None = None,
        fused: bool | None = None,
    ) -> None:
        original(optimizer, params, lr)
        if fused:
            raise RuntimeError("not on this device")

    original = torch.optim.SGD.__init__
    monkeypatch.setattr(torch.optim.SGD, "__init__", refuse)
    fusing = apply("optimizer", fused=True)
    optimizer = torch.optim.SGD(iter([{"params": iter([nn.Parameter(torch.ones(1))])}]), 0.5)
    assert (
        len(optimizer.param_groups[0]["params"]),
        optimizer.param_groups[0]["fused"],
        optimizer.defaults["lr"],
    ) == (1, None, 0.5)
    assert told(fusing) == (0, "torch refuses it: not on this device")


def test_sparse_gradients_end_a_fused_step_before_it_fails(apply: Apply) -> None:
    fusing = apply("optimizer", fused=True)
    embedding = nn.Embedding(3, 2, sparse=True)
    optimizer = torch.optim.SGD(embedding.parameters(), lr=1.0)
    before = embedding.weight.detach().clone()
    for _ in range(2):
        optimizer.zero_grad()
        embedding(torch.tensor([1])).sum().backward()
        optimizer.step()
    assert torch.equal(before - embedding.weight, torch.tensor([[0.0, 0], [2, 2], [0, 0]]))
    assert (fusing.held, "sparse" in fusing.why_not) == (0, True)
