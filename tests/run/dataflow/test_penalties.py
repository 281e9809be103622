"""Penalties on weights that are written into a loss, in steps of a small model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from diagnose.run.child.dataflow.dataflow import Dataflow
from diagnose.run.child.places import Places

HERE = Path(__file__)
WEIGHTS = nn.ParameterList([torch.ones(3, 4), torch.ones(4)])


def squared() -> Tensor:
    return sum(weight.pow(2.0).sum() for weight in WEIGHTS)  # type: ignore[return-value]


def scaled_inside() -> Tensor:
    total = torch.zeros(1)
    for weight in WEIGHTS:
        total += torch.sum(0.1 * torch.square(weight))
    return total


def by_itself() -> Tensor:
    return sum((weight * weight).sum() for weight in WEIGHTS)  # type: ignore[return-value]


def norms() -> Tensor:
    return sum(torch.norm(weight, p=2) ** 2 for weight in WEIGHTS)  # type: ignore[return-value]


def in_one_piece() -> Tensor:
    return torch.cat([weight.view(-1) for weight in WEIGHTS]).square().sum()


def flat_products() -> Tensor:
    return torch.stack([torch.dot(weight.flatten(), weight.flatten()) for weight in WEIGHTS]).sum()


# other things


def absolute() -> Tensor:
    return sum(weight.abs().sum() for weight in WEIGHTS)  # type: ignore[return-value]


def plain_norms() -> Tensor:
    """No weight decay does the same."""
    return sum(torch.norm(weight) for weight in WEIGHTS)  # type: ignore[return-value]


def from_a_start() -> Tensor:
    return sum((weight - torch.zeros(4)).square().sum() for weight in WEIGHTS)  # type: ignore[return-value]


def of_the_batch() -> Tensor:
    return WEIGHTS[0][torch.tensor([0, 2])].square().sum()


def by_column() -> Tensor:
    return WEIGHTS[0].square().sum(0).max()


def without_gradients() -> Tensor:
    with torch.no_grad():
        return squared()


def seen(penalty: Callable[[], Tensor]) -> list[dict[str, Any]]:
    flow = Dataflow(Places(str(HERE.parent), str(HERE.parent)))
    assert flow.begin()
    for _ in range(6):
        loss = (WEIGHTS[0] @ torch.ones(4)).square().mean()
        (loss + 1e-3 * penalty()).backward()
        flow.step()
    assert flow.facts is not None
    found: list[dict[str, Any]] = flow.facts["penalties"]
    return found


@pytest.mark.parametrize(
    ("penalty", "count"),
    [
        # of each weight a power and a sum, then the additions to 0 and to each other
        (squared, 2 * 2 + 2),
        (scaled_inside, 2 * 3),  # in place is told of no line
        (by_itself, 2 * 2 + 2),
        (norms, 2 * 2 + 2),
        (in_one_piece, 3),  # the views are free
        (flat_products, 2 + 2),
    ],
)
def test_a_penalty_is_seen_with_all_its_calls(penalty: Callable[[], Tensor], count: int) -> None:
    lines = seen(penalty)
    assert sum(line["call_count"] for line in lines if line["function"] != "seen") == count
    assert all(line["trained_ns"] == line["ns"] > 0 for line in lines)


@pytest.mark.parametrize(
    "other", [absolute, plain_norms, from_a_start, of_the_batch, by_column, without_gradients]
)
def test_what_is_no_sum_of_squares_of_weights_is_none(other: Callable[[], Tensor]) -> None:
    assert seen(other) == []
