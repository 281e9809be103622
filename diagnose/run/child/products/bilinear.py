"""Bilinear forms (`nn.Bilinear`): torch multiplies three factors by an operator of its own (`_trilinear`, in
`aten/src/ATen/native/Linear.cpp`), without a matrix product. Two products give the same; both ways are tried
on what the script's is given.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from ..values import Call
from .product_trial import LONG_NS, share_left


def is_bilinear(call: Call) -> bool:
    """Whether that is one, on a processor."""
    given = call.given
    return call.name == "bilinear" and len(given) in (3, 4) and given[0].device.type == "cpu"


def left_as_products(call: Call, ns: int, *, is_trained: bool) -> float | None:
    """The share of its time, and of its backward's (``is_trained``), that two products leave; None where it
    takes too long to try. ``ns``: what the script's took.
    """
    if ns > LONG_NS:
        return None
    return share_left((F.bilinear, call.given), (as_products, call.given), is_trained=is_trained)


def as_products(left: Tensor, right: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """The same numbers as `F.bilinear`'s, but for rounding."""
    outputs, width, other_width = weight.shape
    columns = weight.permute(1, 0, 2).reshape(width, outputs * other_width)
    half = (left.reshape(-1, width) @ columns).view(-1, outputs, other_width)
    result = torch.bmm(half, right.reshape(-1, other_width, 1)).view(*left.shape[:-1], outputs)
    return result if bias is None else result + bias
