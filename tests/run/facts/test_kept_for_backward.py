"""What a forward keeps for a backward, and functions of `torch.func` within it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from diagnose.run.child.inspection import kept_for_backward


def kept(model: nn.Module, given: Tensor) -> list[int]:
    told: list[int] = []
    with kept_for_backward(model, told.append):
        model(given)
    model(given)  # is not looked at
    return told


def test_each_operator_that_keeps_anything_counts_with_its_result() -> None:
    """4 x 16 numbers of a layer and of its tanh, 4 x 3 of the last; a view of these keeps nothing."""
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3), nn.Flatten())
    assert kept(model, torch.randn(4, 8)) == [4 * (2 * 4 * 16 + 4 * 3)]


def test_without_a_graph_nothing_is_kept() -> None:
    with torch.no_grad():
        assert kept(nn.Linear(8, 16), torch.randn(4, 8)) == [0]


class Slopes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(3, 1)

    def forward(self, points: Tensor) -> Any:
        return torch.func.vmap(torch.func.grad(lambda point: self.net(point).sum()))(points)


def test_a_forward_may_use_transforms_that_refuse_hooks() -> None:
    assert len(kept(Slopes(), torch.randn(5, 3))) == 1
