"""Convolutions that are put down side by side: the kernel is as long as its stride, as where a picture is cut
into patches. They are products of a matrix of patches; both ways are tried on what the script's is given.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from .convolution import Convolution
from .product_trial import share_left

_LONG_NS = 50_000_000  # of the script's convolution: the trial takes some twenty times as long
CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}


def is_of_patches(convolution: Convolution) -> bool:
    """Whether that is one on a processor, of more than single points."""
    if convolution.picture.device.type != "cpu" or convolution.groups != 1:
        return False
    kernel = tuple(convolution.kernel.shape[2:])
    return (
        kernel == convolution.stride
        and set(convolution.dilation) == {1}
        and set(convolution.padding) <= {0, "valid"}
        and convolution.kernel.dim() == convolution.picture.dim()
        and max(kernel) > 1
    )


def left_as_product(convolution: Convolution, ns: int, *, is_trained: bool) -> float | None:
    """The share of its time, and of its backward's (``is_trained``), that one product leaves; None where it
    takes too long to try. ``ns``: what the script's took.
    """
    if ns > _LONG_NS:
        return None
    _, kernel, bias, stride, *_ = convolution
    given = [convolution.picture, kernel, *([bias] if bias is not None else [])]

    def as_is(picture: Tensor, kernel: Tensor, bias: Tensor | None = None) -> Tensor:
        return CONVOLUTIONS[len(stride)](picture, kernel, bias, stride=stride)

    return share_left((as_is, given), (product, given), is_trained=is_trained)


def product(picture: Tensor, kernel: Tensor, bias: Tensor | None = None) -> Tensor:
    """The same numbers as the convolution's."""
    sizes = kernel.shape[2:]
    rows = picture
    for dim, size in enumerate(sizes):  # [batch, channels, patches, size, patches, size …]
        at = 2 + 2 * dim
        rows = rows.narrow(at, 0, rows.shape[at] // size * size).unflatten(at, (-1, size))
    dimensions = len(sizes)
    patches, inside = range(2, 2 + 2 * dimensions, 2), range(3, 3 + 2 * dimensions, 2)
    rows = rows.permute(0, *patches, 1, *inside).flatten(1 + dimensions)
    return F.linear(rows, kernel.flatten(1), bias).movedim(-1, 1)
