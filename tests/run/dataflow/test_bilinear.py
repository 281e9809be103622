"""Bilinear forms."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from diagnose.run.child.products.bilinear import as_products
from tests.run.dataflow.looking import seen, text_of


def test_a_bilinear_form_is_tried_as_two_products() -> None:
    """Its backward takes most: of both ways together a quarter was left on one core."""
    layer, rows = nn.Bilinear(48, 48, 40), torch.rand(512, 48, requires_grad=True)

    def step() -> None:
        layer(rows, rows * 2).sum().backward()

    step()
    (told,) = seen(step)["bilinear"]
    assert text_of(told) == "layer(rows, rows * 2).sum().backward()"
    assert told["left_ns"] < 0.7 * told["ns"]


@pytest.mark.parametrize("batch", [(7,), (2, 3), ()])
@pytest.mark.parametrize("bias", [True, False])
def test_two_products_give_the_same(batch: tuple[int, ...], bias: bool) -> None:
    layer, left, right = nn.Bilinear(5, 3, 4, bias=bias), torch.rand(*batch, 5), torch.rand(*batch, 3)
    given = [layer.weight, *([layer.bias] if bias else [])]
    torch.testing.assert_close(as_products(left, right, *given), layer(left, right))
