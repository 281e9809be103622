"""Pooling over windows of k × k that overlap: the mean of means of rows is the mean, and the largest of the
largest of rows is the largest, so that one along each dimension gives the same. Both ways are tried on what
the script's is given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch.nn.functional as F
from torch import Tensor

from .convolution import of_each
from .product_trial import share_left

_NAMES: dict[str, tuple[str, ...]] = {  # of their arguments, after the picture
    "avg_pool2d": ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"),
    "max_pool2d": ("kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices"),
}
_POOLS: dict[str, Callable[..., Tensor]] = {"avg_pool2d": F.avg_pool2d, "max_pool2d": F.max_pool2d}
_WINDOW_AT_LEAST = 16  # numbers
_LONG_NS = 50_000_000  # of the script's pooling: the trial takes some twenty times as long


class Pooling(NamedTuple):
    """Of each dimension ``window``, ``stride`` and ``padding``."""

    name: str
    picture: Tensor
    window: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]


def pooling_of(name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Pooling | None:
    """None for another call, for small windows or ones that hardly overlap, where each border has a rule of
    its own, and on a GPU, which would have to be waited for.
    """
    if name not in _NAMES:
        return None
    given = dict(zip(("input", *_NAMES[name]), arguments, strict=False)) | options
    picture, window = given.pop("input", None), of_each(given.pop("kernel_size", None), 2)
    stride, padding = given.pop("stride", None), of_each(given.pop("padding", 0), 2)
    strides = window if stride in (None, [], ()) else of_each(stride, 2)
    if not isinstance(picture, Tensor) or picture.device.type != "cpu":
        return None
    if not all(isinstance(size, int) for size in (*window, *strides, *padding)):
        return None
    counts_padding = given.pop("count_include_pad", True) or padding == (0, 0)
    is_plain = counts_padding and of_each(given.pop("dilation", 1), 2) == (1, 1) and not any(given.values())
    overlaps = all(2 * step <= size for step, size in zip(strides, window, strict=True))
    if not is_plain or not overlaps or window[0] * window[1] < _WINDOW_AT_LEAST or min(window) < 2:
        return None
    return Pooling(name, picture, window, strides, padding)


def left_as_two_pools(pooling: Pooling, ns: int, *, is_trained: bool) -> float | None:
    """The share of its time, and of its backward's (``is_trained``), that two leave; None where it takes too
    long to try. ``ns``: what the script's took.
    """
    if ns > _LONG_NS:
        return None
    given = [pooling.picture]

    def as_is(picture: Tensor) -> Tensor:
        return _POOLS[pooling.name](picture, pooling.window, pooling.stride, pooling.padding)

    def as_two(picture: Tensor) -> Tensor:
        return two_pools(pooling, picture)

    return share_left((as_is, given), (as_two, given), is_trained=is_trained)


def two_pools(pooling: Pooling, picture: Tensor) -> Tensor:
    """The same numbers as the pooling's, but for rounding."""
    pool = _POOLS[pooling.name]
    (high, wide), (down, across), (above, beside) = pooling.window, pooling.stride, pooling.padding
    return pool(pool(picture, (high, 1), (down, 1), (above, 0)), (1, wide), (1, across), (0, beside))
