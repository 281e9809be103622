"""Products of three matrices in the costlier order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from tests.run.dataflow.test_dataflow import seen

HERE = Path(__file__)
LINES = HERE.read_text().splitlines()


def left_of(step: Callable[[], Any]) -> dict[str, float]:
    """By the line's text, of those that are told."""
    told = [line for line in seen(step)["order"] if line["call_count"]]
    assert all(line["file"] == str(HERE) for line in told)
    return {LINES[line["line"] - 1].strip(): line["left_ns"] / line["ns"] for line in told}


def test_a_large_product_for_a_narrow_one(one_thread: None) -> None:
    """128³ multiplications for each of 16, where 2 · 128² do."""
    a, b, c = torch.rand(16, 128, 128), torch.rand(16, 128, 128), torch.rand(16, 128, 1)
    a.requires_grad_()

    def step() -> None:
        product = torch.bmm(a, b)
        torch.bmm(product, c).sum().backward()

    left = left_of(step)
    assert set(left) == {"product = torch.bmm(a, b)", "torch.bmm(product, c).sum().backward()"}
    assert all(share < 0.5 for share in left.values())


def test_the_product_may_come_second_or_be_a_weight(one_thread: None) -> None:
    a, b, rows = torch.rand(512, 4), torch.rand(4, 512), torch.rand(8, 512)

    def step() -> None:
        weight = a @ b
        functional.linear(rows, weight)
        other = torch.mm(a, b)
        rows @ other

    left = left_of(step)
    assert set(left) == {
        "weight = a @ b",
        "functional.linear(rows, weight)",
        "other = torch.mm(a, b)",
        "rows @ other",
    }
    assert all(share < 0.7 for share in left.values())


@pytest.mark.parametrize(
    "use",
    [
        lambda product, wide: product @ wide,  # all orders cost the same
        lambda product, wide: (product @ wide[:, :1]).sum() + product.sum(),  # it is needed by itself
        lambda product, wide: product.relu() @ wide[:, :1],  # something lies between
    ],
)
def test_other_products_are_left_alone(use: Callable[[Tensor, Tensor], Tensor]) -> None:
    a, b, wide = (torch.rand(128, 128) for _ in range(3))
    assert left_of(lambda: use(a @ b, wide)) == {}
