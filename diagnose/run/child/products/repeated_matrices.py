"""Products of batches of matrices of which some are there many times: torch copies the smaller batch until it
fits the other, or the script has copied it. `einsum` takes each matrix once, and makes one large product of
many small ones; both ways are tried on what the script's product is given.
"""

from __future__ import annotations

from functools import partial
from string import ascii_lowercase
from typing import NamedTuple

import torch
from torch import Tensor

from .product_trial import LONG_NS, share_left

_PRODUCTS = {"matmul", "__matmul__", "__rmatmul__", "bmm"}
_DIMENSIONS_AT_MOST = 8
_ROWS, _SUMMED, _COLUMNS = "xyz"


class Factor(NamedTuple):
    """A batch of matrices without copies, and what `einsum` calls its dimensions."""

    tensor: Tensor
    letters: str


def without_copies(name: str, given: list[Tensor]) -> tuple[Factor, Factor] | None:
    """Both factors, if that is a product on a processor in which one of them has fewer matrices than the
    product; None for another call.
    """
    if name not in _PRODUCTS or len(given) != 2 or not all(map(_counts, given)):
        return None
    left, right = reversed(given) if name == "__rmatmul__" else given
    dimensions = max(left.dim(), right.dim())
    if right.dim() == 2 or not 2 < dimensions <= _DIMENSIONS_AT_MOST:
        return None  # of one matrix on the right torch makes one product by itself
    batch = ascii_lowercase[: dimensions - 2]
    factors = (
        _once(left, batch[dimensions - left.dim() :], _ROWS + _SUMMED),
        _once(right, batch[dimensions - right.dim() :], _SUMMED + _COLUMNS),
    )
    of_left, of_right = (set(factor.letters) & set(batch) for factor in factors)
    return None if of_left == of_right else factors


def left_by_einsum(
    factors: tuple[Factor, Factor], given: list[Tensor], ns: int, *, is_trained: bool
) -> float | None:
    """The share of such a product's time, and of its backward's (``is_trained``), that `einsum` leaves; None
    where it takes too long to try. ``ns``: what the script's took.
    """
    if ns > LONG_NS:
        return None
    left, right = factors
    batch = sorted({*left.letters, *right.letters} - {_ROWS, _SUMMED, _COLUMNS})
    equation = f"{left.letters},{right.letters}->{''.join(batch)}{_ROWS}{_COLUMNS}"
    by_einsum = partial(torch.einsum, equation)
    matrices = [left.tensor, right.tensor]
    return share_left((torch.matmul, given), (by_einsum, matrices), is_trained=is_trained)


def _counts(tensor: Tensor) -> bool:
    return (
        tensor.layout == torch.strided
        and tensor.device.type == "cpu"
        and tensor.is_floating_point()
        and tensor.dim() >= 2
        and tensor.numel() > 0
    )


def _once(tensor: Tensor, batch: str, matrix: str) -> Factor:
    """Without the dimensions of the batch along which all matrices are the same."""
    letters = ""
    for letter in batch:
        dim = len(letters)
        if _is_same_along(tensor, dim):
            tensor = tensor.select(dim, 0)
        else:
            letters += letter
    return Factor(tensor, letters + matrix)


def _is_same_along(tensor: Tensor, dim: int) -> bool:
    """Numbers that are all the same, as of a first state, may be others next time, and do not count."""
    if tensor.shape[dim] == 1 or tensor.stride(dim) == 0:
        return True
    seen = tensor.detach()
    first = seen.select(dim, 0)
    if not torch.equal(first, seen.select(dim, -1)) or bool((first == first.flatten()[0]).all()):
        return False
    return bool((seen == first.unsqueeze(dim)).all())
