"""Convolutions of pictures with a constant kernel that is a column times a row, as that of a blur: one along
each dimension gives the same with fewer products. Both ways are tried on what the script's is given.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from .convolution import Convolution
from .product_trial import share_left

_TAPS_AT_LEAST = 16  # of a kernel: a column and a row of small ones have hardly fewer
_LONG_NS = 50_000_000  # of the script's convolution: the trial takes some twenty times as long
_ROUNDING = 1e-5  # × the largest tap, by which taps may differ from the product


def column_and_row(convolution: Convolution) -> tuple[Tensor, Tensor] | None:
    """Kernels of one dimension each, [channels, 1, k, 1] and [channels, 1, 1, k]. None for a kernel that is
    trained, small, mixes channels, or is no such product, and on a GPU, which would have to be waited for.
    """
    kernel = convolution.kernel
    if (
        convolution.dimensions != 2
        or kernel.device.type != "cpu"
        or kernel.requires_grad
        or kernel.dim() != 4
    ):
        return None
    channels, of_each, height, width = kernel.shape
    if of_each != 1 or convolution.groups != channels or min(height, width) < 2:
        return None
    if height * width < _TAPS_AT_LEAST or not kernel.is_floating_point():
        return None
    largest = kernel.flatten(1).abs().argmax(dim=1)
    rows, columns = largest // width, largest % width
    column = kernel.gather(3, columns[:, None, None, None].expand(-1, 1, height, 1))
    row = kernel.gather(2, rows[:, None, None, None].expand(-1, 1, 1, width))
    pivot = row.gather(3, columns[:, None, None, None])
    if not bool((pivot != 0).all()):
        return None
    row = row / pivot
    differs = (kernel - column * row).abs().amax(dim=(1, 2, 3))
    is_product = differs <= _ROUNDING * pivot.abs().flatten()
    return (column, row) if bool(is_product.all()) else None


def left_as_two(
    convolution: Convolution, column: Tensor, row: Tensor, ns: int, *, is_trained: bool
) -> float | None:
    """The share of its time, and of its backward's (``is_trained``), that two convolutions leave; None where
    it takes too long to try. ``ns``: what the script's took.
    """
    if ns > _LONG_NS:
        return None
    _, kernel, bias, stride, padding, dilation, groups = convolution
    around = padding[0] if isinstance(padding[0], str) else padding
    given = [convolution.picture, *([bias] if bias is not None else [])]

    def as_is(picture: Tensor, bias: Tensor | None = None) -> Tensor:
        return F.conv2d(picture, kernel, bias, stride, around, dilation, groups)

    def as_two(picture: Tensor, bias: Tensor | None = None) -> Tensor:
        return two(convolution, column, row, picture, bias)

    return share_left((as_is, given), (as_two, given), is_trained=is_trained)


def two(
    convolution: Convolution, column: Tensor, row: Tensor, picture: Tensor, bias: Tensor | None
) -> Tensor:
    """The same numbers as the convolution's, but for rounding."""
    (down, across), (far_down, far_across) = convolution.stride, convolution.dilation
    padding, groups = convolution.padding, convolution.groups
    of_column, of_row = padding if isinstance(padding[0], str) else ((padding[0], 0), (0, padding[1]))
    columns = F.conv2d(picture, column, None, (down, 1), of_column, (far_down, 1), groups)
    return F.conv2d(columns, row, bias, (1, across), of_row, (1, far_across), groups)
