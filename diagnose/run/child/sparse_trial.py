"""What products of a sparse matrix that is kept by coordinates (COO) take if it is kept by rows (CSR): both
are tried, on what the script's product is given.
"""

from __future__ import annotations

import contextlib
from functools import partial

import torch
from torch import Tensor

from .product_trial import LONG_NS, shortest_ns
from .unwarned import unwarned

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
        as_is_ns, by_rows_ns = (
            shortest_ns(partial(torch.mm, kept), given, is_trained=is_trained) for kept in (matrix, by_rows)
        )
        return by_rows_ns / max(as_is_ns, 1)
    return None
