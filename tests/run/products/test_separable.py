"""Kernels that are a column times a row."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from diagnose.run.child.products.convolution import Convolution, convolution_of
from diagnose.run.child.products.separable import column_and_row, left_as_two, two

ROW = torch.tensor([0.1, 0.2, 0.4, 0.2, 0.1])
BLUR = (ROW[:, None] * ROW)[None, None]


def convolution(picture: tuple[int, ...], kernel: Tensor, **options: Any) -> Convolution:
    found = convolution_of("conv2d", (torch.randn(picture), kernel), options)
    assert found is not None
    return found


def kernels(channels: int, height: int, width: int) -> Tensor:
    return torch.randn(channels, 1, height, 1) * torch.randn(channels, 1, 1, width)


@pytest.mark.parametrize(
    ("picture", "kernel", "options"),
    [
        ((2, 1, 12, 14), BLUR, {}),
        ((2, 1, 12, 14), BLUR, {"padding": "same"}),
        ((2, 3, 12, 14), kernels(3, 7, 5), {"groups": 3, "padding": (3, 2), "bias": torch.randn(3)}),
        ((2, 3, 22, 24), kernels(3, 4, 5), {"groups": 3, "stride": (2, 3), "dilation": (2, 1)}),
    ],
)
def test_two_convolutions_give_the_same(
    picture: tuple[int, ...], kernel: Tensor, options: dict[str, Any]
) -> None:
    given = convolution(picture, kernel, **options)
    factors = column_and_row(given)
    assert factors is not None
    expected = torch.nn.functional.conv2d(given.picture, kernel, **options)
    torch.testing.assert_close(two(given, *factors, given.picture, given.bias), expected)


@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        (torch.randn(1, 1, 5, 5), {}),  # any
        (BLUR.clone().requires_grad_(), {}),  # trained
        (BLUR[..., 1:4, 1:4], {}),  # small
        (torch.randn(1, 1, 1, 25), {}),  # a row already
        (torch.zeros(1, 1, 5, 5), {}),
        (BLUR.expand(3, 3, 5, 5), {}),  # mixes channels
        (torch.cat([BLUR, torch.randn(1, 1, 5, 5)]), {"groups": 2}),  # one of two is
    ],
)
def test_others_are_not_tried(kernel: Tensor, options: dict[str, Any]) -> None:
    channels = kernel.shape[1] * options.get("groups", 1)
    assert column_and_row(convolution((2, channels, 12, 30), kernel, **options)) is None


def test_both_ways_are_tried_and_a_large_kernel_leaves_little() -> None:
    row = torch.ones(25)
    given = convolution((8, 1, 80, 80), (row[:, None] * row)[None, None])
    factors = column_and_row(given)
    assert factors is not None
    left = left_as_two(given, *factors, 1000, is_trained=True)
    assert left is not None and 0 < left < 0.8
    assert left_as_two(given, *factors, 10**9, is_trained=True) is None  # too long to try
