"""What a sparse gradient of an embedding table and its update take, tried on tables of which only the rows in
use are filled: those of a large one cost no more, for memory that is never written to takes none.
"""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time_ns

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.optim import _functional

from ..facts.machine import available_memory_bytes
from ..one_core import alone_on_a_core
from .product_trial import gradients

_TIMES = 4
_NUMBERS_AT_MOST = 5_000_000  # that are looked up


def sparse_updates_ns(indices: Tensor, rows: int, width: int) -> dict[str, int] | None:
    """By optimizer the shortest of a few gradients with their update, in processor time; None for many
    numbers, for tables that would not fit into memory, or on a GPU, which would have to be waited for.
    Optimizers themselves are watched, and not used.
    """
    if indices.device.type != "cpu" or indices.numel() * width > _NUMBERS_AT_MOST:
        return None
    available = available_memory_bytes()
    if available is not None and 3 * rows * width * torch.get_default_dtype().itemsize > available:
        return None
    tables = [torch.empty(rows, width) for _ in range(3)]
    for one in tables:
        one[indices] = 0.0
    table, average, square = tables
    table.requires_grad_()

    def adam(gradient: Tensor) -> None:
        _functional.sparse_adam(
            [table],
            [gradient],
            [average],
            [square],
            [1],
            eps=1e-8,
            beta1=0.9,
            beta2=0.999,
            lr=1e-3,
            maximize=False,
        )

    def sgd(gradient: Tensor) -> None:
        table.add_(gradient, alpha=-1e-3)

    with alone_on_a_core():
        return {
            name: _shortest_ns(indices, table, update)
            for name, update in (("SparseAdam", adam), ("SGD", sgd))
        }


def _shortest_ns(indices: Tensor, table: Tensor, update: Callable[[Tensor], None]) -> int:
    taken_ns = []
    for _ in range(_TIMES):  # the first one touches the memory
        with torch.enable_grad():
            found = F.embedding(indices, table, sparse=True)
        began_ns = thread_time_ns()
        (gradient,) = gradients(found, [table])
        with torch.no_grad():
            update(gradient)
        taken_ns.append(thread_time_ns() - began_ns)
    return min(taken_ns)
