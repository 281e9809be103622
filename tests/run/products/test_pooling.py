"""Pooling that is one along each dimension."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from diagnose.run.child.products.pooling import left_as_two_pools, pooling_of, two_pools
from tests.run.dataflow.looking import seen

POOLS = {"avg_pool2d": functional.avg_pool2d, "max_pool2d": functional.max_pool2d}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("avg_pool2d", {"kernel_size": 7, "stride": 1, "padding": 3}),
        ("avg_pool2d", {"kernel_size": (5, 8), "stride": (2, 3), "padding": (2, 0)}),
        ("avg_pool2d", {"kernel_size": 6, "stride": 2, "count_include_pad": False}),
        ("max_pool2d", {"kernel_size": 9, "stride": 1, "padding": 4}),
        ("max_pool2d", {"kernel_size": (4, 5), "stride": 2, "padding": (1, 2)}),
    ],
)
def test_two_give_the_same(name: str, options: dict[str, Any]) -> None:
    picture = torch.randn(2, 3, 20, 23)
    pooling = pooling_of(name, (picture,), options)
    assert pooling is not None
    torch.testing.assert_close(two_pools(pooling, picture), POOLS[name](picture, **options))


@pytest.mark.parametrize(
    ("name", "arguments", "options"),
    [
        ("avg_pool2d", (3, 1), {}),  # small
        ("avg_pool2d", (8,), {}),  # windows side by side
        ("avg_pool2d", (8, 5), {}),  # that hardly overlap
        ("avg_pool2d", (7, 1, 3), {"count_include_pad": False}),  # borders count fewer
        ("avg_pool2d", (7, 1), {"divisor_override": 3}),
        ("avg_pool2d", ((1, 31), 1), {}),  # a row already
        ("max_pool2d", (7, 1, 3, 2), {}),  # dilated
        ("max_pool2d", (7, 1, 3, 1, True), {}),  # the last windows reach beyond
        ("adaptive_avg_pool2d", (7,), {}),
    ],
)
def test_others_are_not_tried(name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
    assert pooling_of(name, (torch.randn(1, 1, 40, 40), *arguments), options) is None


@pytest.mark.parametrize("pool", [functional.avg_pool2d, nn.AvgPool2d(31, 1, 15), functional.max_pool2d])
def test_a_wide_window_is_tried_where_a_script_pools(pool: Any) -> None:
    """31 x 31 numbers for each pixel, or 62."""
    picture = torch.randn(1, 1, 96, 96)  # of a few ms: what takes 50 beside other programs is not tried

    def pooled() -> Tensor:
        return pool(picture) if isinstance(pool, nn.Module) else pool(picture, 31, 1, 15)

    (told,) = seen(pooled)["separable"]
    assert told["left_ns"] < 0.5 * told["ns"]


def test_what_takes_long_is_not_tried() -> None:
    pooling = pooling_of("avg_pool2d", (torch.randn(1, 1, 40, 40), 7, 1), {})
    assert pooling is not None and left_as_two_pools(pooling, 10**9, is_trained=False) is None
