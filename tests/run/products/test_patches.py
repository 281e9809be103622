"""Convolutions that are put down side by side."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from diagnose.run.child.products.convolution import Convolution, convolution_of
from diagnose.run.child.products.patches import CONVOLUTIONS, is_of_patches, left_as_product, product


def convolution(picture: tuple[int, ...], kernel: tuple[int, ...], **options: Any) -> Convolution:
    given = torch.randn(picture), torch.randn(kernel), torch.randn(kernel[0])
    found = convolution_of(f"conv{len(picture) - 2}d", given, options)
    assert found is not None
    return found


SIDE_BY_SIDE = [
    ((2, 3, 29), (5, 3, 3), 3),  # the last two are cut off
    ((2, 3, 16, 12), (5, 3, 4, 4), 4),
    ((2, 1, 6, 20), (5, 1, 6, 1), (6, 1)),
    ((2, 3, 4, 6, 8), (5, 3, 2, 3, 4), (2, 3, 4)),
]


@pytest.mark.parametrize(("picture", "kernel", "stride"), SIDE_BY_SIDE)
def test_they_are_one_product(picture: tuple[int, ...], kernel: tuple[int, ...], stride: Any) -> None:
    given = convolution(picture, kernel, stride=stride)
    assert is_of_patches(given)
    expected = CONVOLUTIONS[given.dimensions](given.picture, given.kernel, given.bias, stride=stride)
    found = product(given.picture, given.kernel, given.bias)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize(
    ("picture", "kernel", "options"),
    [
        ((2, 3, 30), (5, 3, 3), {"stride": 2}),  # one over the other
        ((2, 3, 30), (5, 3, 1), {}),  # single points
        ((2, 3, 30), (5, 3, 3), {"stride": 3, "padding": 1}),
        ((2, 3, 30), (5, 3, 3), {"stride": 3, "dilation": 2}),
        ((2, 4, 30), (6, 2, 3), {"stride": 3, "groups": 2}),
        ((2, 3, 30), (5, 3, 3), {"padding": "same"}),
    ],
)
def test_others_are_not_tried(
    picture: tuple[int, ...], kernel: tuple[int, ...], options: dict[str, Any]
) -> None:
    assert not is_of_patches(convolution(picture, kernel, **options))


def test_both_ways_are_tried_and_nothing_is_left_behind() -> None:
    given = convolution((4, 16, 30), (16, 16, 3), stride=3)
    given.kernel.requires_grad_()
    left = left_as_product(given, 1000, is_trained=True)
    assert left is not None and left > 0
    assert given.kernel.grad is None
    assert left_as_product(given, 10**9, is_trained=True) is None  # too long to try
