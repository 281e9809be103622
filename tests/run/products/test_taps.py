"""Convolutions some of whose taps see nothing but padding."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from diagnose.run.child.products.convolution import convolution_of
from diagnose.run.child.products.taps import left_without_padding


def left_of(name: str, given: tuple[torch.Tensor, ...], options: dict[str, Any]) -> float | None:
    convolution = convolution_of(name, given, options)
    assert convolution is not None
    return left_without_padding(convolution)


@pytest.mark.parametrize(
    ("length", "taps", "options", "left"),
    [
        (20, 3, {"padding": 1}, None),
        (20, 3, {"padding": 16, "dilation": 16}, None),  # the outer ones see 4 places each
        (20, 3, {"padding": 19, "dilation": 19}, None),  # and here one
        (20, 3, {"padding": 20, "dilation": 20}, 1 / 3),
        (20, 3, {"padding": "same", "dilation": 20}, 1 / 3),
        (20, 5, {"padding": 20, "dilation": 10}, 3 / 5),  # taps at -20, -10, 0, 10, 20
        (20, 3, {"padding": 40, "dilation": 20}, None),  # causal: the end is cut off later
        (20, 3, {"padding": "valid", "dilation": 9}, None),
        (1, 3, {"padding": 1, "stride": 2}, 1 / 3),
        (4, 2, {}, None),
    ],
)
def test_taps_that_see_anything(length: int, taps: int, options: dict[str, Any], left: float | None) -> None:
    given = torch.zeros(2, 4, length), torch.zeros(6, 4, taps)
    found = left_of("conv1d", given, options)
    assert found == (None if left is None else pytest.approx(left + 0.1))
    of_kernel, step = torch.zeros(6, 4, taps), torch.zeros(2, 4, length)
    # what the other taps hold changes nothing
    if left is not None:
        whole = torch.nn.functional.conv1d(step + 1, of_kernel + 1, **options)
        dead = round(taps * (1 - left)) // 2
        of_kernel[..., dead : taps - dead] = 1
        assert torch.equal(torch.nn.functional.conv1d(step + 1, of_kernel, **options), whole)


def test_each_dimension_counts_and_arguments_may_have_no_names() -> None:
    picture, kernel = torch.zeros(1, 2, 8, 3), torch.zeros(4, 2, 3, 3)
    # 8 high: all three rows see something; 3 wide with a dilation of 4: one column
    given = (picture, kernel, None, (1, 1), (4, 4), (4, 4), 1)
    assert left_of("conv2d", given, {}) == pytest.approx(1 / 3 + 0.1)
    assert convolution_of("linear", (picture, kernel), {}) is None
