"""What products of a sparse matrix that is kept by coordinates (COO) take if it is kept by rows (CSR), and
what dense products of a nearly empty one take if it is kept sparse: all are tried, on what the script's
product is given.
"""

from __future__ import annotations

import contextlib
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..unwarned import unwarned
from .product_trial import LONG_NS, share_left

_PRODUCTS = {"matmul", "mm", "spmm", "__matmul__", "addmm", "_sparse_mm", "_sparse_addmm"}


def is_by_coordinates(name: str, given: list[Tensor]) -> bool:
    """Whether that is a product of such a matrix, on a processor."""
    if name not in _PRODUCTS or len(given) < 2:
        return False
    matrix, dense = given[-2:]
    is_sparse = matrix.layout == torch.sparse_coo and matrix.device.type == "cpu" and matrix.dim() == 2
    return is_sparse and not matrix.requires_grad and dense.layout == torch.strided and dense.dim() == 2


def left_if_by_rows(given: list[Tensor], ns: int, *, is_trained: bool) -> float | None:
    """The share of such a product's time, and of its backward's (``is_trained``), that is left by rows; None
    where it takes too long to try, or torch has no such product. ``ns``: what the script's took.
    """
    if ns > LONG_NS:
        return None
    matrix, dense = given[-2:]
    with contextlib.suppress(RuntimeError), unwarned():  # torch may be built without MKL
        matrix = matrix.detach().coalesce()
        by_rows = matrix.to_sparse_csr()
        given = [dense.detach().requires_grad_(is_trained)]
        ways = [(partial(torch.mm, kept), given) for kept in (matrix, by_rows)]
        return share_left(*ways, is_trained=is_trained)
    return None


def left_if_sparse(
    empty: Tensor, other: Tensor, ns: int, *, comes_first: bool, is_trained: bool
) -> float | None:
    """The share of a dense product's time, and of its backward's (``is_trained``), that is left if its nearly
    empty matrix is kept by rows, or is a lookup of the other one's rows, whichever is less. None where it
    takes too long to try, torch has no such product, or the empty matrix itself is trained.
    """
    if ns > LONG_NS or empty.requires_grad:
        return None
    is_trained = is_trained and other.requires_grad
    empty = empty.detach() if comes_first else empty.detach().t()
    rows = other.detach() if comes_first else other.detach().t()
    with contextlib.suppress(RuntimeError), unwarned():
        kept = empty.to_sparse_csr()
        by_rows = partial(torch.mm, kept)
        if isinstance(other, nn.Parameter) or isinstance(other._base, nn.Parameter):
            # weights would be kept the other way round, as `nn.EmbeddingBag` has them
            table = rows.contiguous()
            ways = [(by_rows, table), (partial(_looked_up, kept), table)]
        else:
            ways = [(by_rows, rows)]
        ways = [(partial(torch.mm, empty), rows), *ways]
        given = ((way, [given.requires_grad_(is_trained)]) for way, given in ways)
        return share_left(*given, is_trained=is_trained)
    return None


def _looked_up(kept: Tensor, rows: Tensor) -> Tensor:
    return functional.embedding_bag(
        kept.col_indices(), rows, kept.crow_indices()[:-1], mode="sum", per_sample_weights=kept.values()
    )
