"""Dense products that read a matrix almost all of whose numbers are zero: adjacency, masks, one-hot rows;
convolutions with a dense kernel of which each output reads one channel: blurs, moving averages; and roots of
matrices that are diagonal.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

_PRODUCTS = {"matmul", "mm", "__matmul__", "__rmatmul__", "linear", "addmm", "einsum"}
_CONVOLUTIONS = {"conv1d": 3, "conv2d": 4, "conv3d": 5}  # and how many dimensions a kernel has
_ROOTS = {"cholesky", "linalg_cholesky", "cholesky_ex", "linalg_cholesky_ex"}
_CHANNELS_AT_LEAST = 3
_NUMBERS_AT_LEAST = 4096
_FILLED_AT_MOST = 0.03


def nearly_empty(name: str, given: list[Tensor]) -> tuple[Tensor, Tensor, bool] | None:
    """Of a product: its emptiest matrix, the other one, and whether the empty one comes first; both as
    matrices, a vector as its column or row. None for another call, or where no matrix is nearly empty.
    Weights may be zero at first, and so may states: neither counts.
    """
    if name not in _PRODUCTS or len(given) < 2:
        return None
    first, second = given[1::-1] if name == "__rmatmul__" else given[-2:] if name == "addmm" else given[:2]
    filled = [_filled_share(tensor) or math.inf for tensor in (first, second)]
    if min(filled) > _FILLED_AT_MOST or min(first.dim(), second.dim()) > 2:
        return None
    is_first = filled[0] <= filled[1]
    second = second.t() if name == "linear" else second
    left = first.flatten(end_dim=-2) if first.dim() > 1 else first.unsqueeze(0)
    right = second.flatten(end_dim=-2) if second.dim() > 1 else second.unsqueeze(1)
    if left.shape[-1] != right.shape[0]:  # of `einsum`, which may go over other dimensions
        return None
    return (left, right, True) if is_first else (right, left, False)


def is_depthwise(name: str, given: list[Tensor]) -> bool:
    """Whether that is a convolution of all channels with a kernel that is not trained, of which each output
    channel reads one input channel at most, and all together read several.
    """
    if len(given) < 2 or given[1].dim() != _CONVOLUTIONS.get(name):
        return False
    kernel = given[1]
    if kernel.requires_grad or kernel.device.type != "cpu" or kernel.shape[1] < _CHANNELS_AT_LEAST:
        return False
    reads = (kernel.detach() != 0).flatten(2).any(-1)
    return bool((reads.sum(1) <= 1).all() and reads.any(0).sum() > 1)


def is_root_of_diagonal(name: str, given: list[Tensor]) -> bool | None:
    """Whether that is a Cholesky factor of diagonal matrices; None for another call."""
    if name not in _ROOTS or not given or given[0].device.type != "cpu" or given[0].dim() < 2:
        return None
    matrix = given[0].detach()
    beside = torch.count_nonzero(matrix) - torch.count_nonzero(matrix.diagonal(dim1=-2, dim2=-1))
    return matrix.shape[-1] > 1 and not beside


def _filled_share(tensor: Tensor) -> float | None:
    if (
        type(tensor) is not Tensor
        or isinstance(tensor._base, torch.nn.Parameter)
        or tensor.layout != torch.strided
        or tensor.device.type != "cpu"
        or tensor.dim() < 2
        or tensor.numel() < _NUMBERS_AT_LEAST
    ):
        return None
    return int(torch.count_nonzero(tensor)) / tensor.numel() or None
