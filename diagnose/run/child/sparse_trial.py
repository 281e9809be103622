"""What products of a sparse matrix that is kept by coordinates (COO) take if it is kept by rows (CSR): both
are tried, on what the script's product is given.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from time import thread_time_ns
from typing import Any, cast

import torch
from torch import Tensor

from .unwarned import unwarned

_PRODUCTS = {"matmul", "mm", "spmm", "__matmul__", "addmm", "_sparse_mm", "_sparse_addmm"}
_LONG_NS = 200_000_000  # of the script's product: the trial takes some ten times as long
_TIMES = 3


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
    if ns > _LONG_NS:
        return None
    matrix, dense = given[-2:]
    with contextlib.suppress(RuntimeError), unwarned():  # torch may be built without MKL
        matrix = matrix.detach().coalesce()
        by_rows = matrix.to_sparse_csr()
        as_is_ns, by_rows_ns = (_shortest_ns(kept, dense, is_trained) for kept in (matrix, by_rows))
        return by_rows_ns / max(as_is_ns, 1)
    return None


def _shortest_ns(matrix: Tensor, dense: Tensor, is_trained: bool) -> int:
    """Of a few products, with their backward; processor time, which other programs disturb least."""
    given = dense.detach().requires_grad_(is_trained)

    def once() -> None:
        product = torch.mm(matrix, given)
        if is_trained:  # the node by itself: `backward` is watched
            cast("Callable[[Tensor], Any]", product.grad_fn)(torch.ones_like(product))

    with torch.set_grad_enabled(is_trained):
        return min(_timed_ns(once) for _ in range(_TIMES))


def _timed_ns(call: Callable[[], None]) -> int:
    began_ns = thread_time_ns()
    call()
    return thread_time_ns() - began_ns
