"""How many different rows of embedding tables a step looks up (a trace holds how many indices there are, and
these may repeat), what sparse gradients of them would take, and whether the tables are used otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..inspection import inside_a_transform
from ..products.sparse_update_trial import sparse_updates_ns

_LOOKUPS = {"embedding", "embedding_bag"}
_NO_USES = {"__get__", "size", "dim", "numel", "__len__", "stride", "requires_grad_", "detach"}
_LARGE_TABLE, _MOST_INDICES = 1_000, 10_000_000


class Lookups:
    """Told of each call of the step."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, ...], Tensor] = {}  # different ones, by the table's shape
        self._counts: Counter[tuple[int, ...]] = Counter()  # of indices
        # by optimizer, what a sparse gradient and its update take for each index
        self._sparse_ns: dict[tuple[int, ...], dict[str, float]] = {}
        self._used: set[tuple[int, ...]] = set()  # shapes of large weights that other calls are given, too

    def call(self, name: str, given: Sequence[Tensor]) -> None:
        if name not in _LOOKUPS:
            if name not in _NO_USES and torch.is_grad_enabled():  # no optimizer
                self._used |= {tuple(tensor.shape) for tensor in given if _is_table(tensor)}
            return
        if len(given) < 2 or inside_a_transform():
            return
        indices, table = given[:2]
        is_lookup = not indices.is_floating_point() and 0 < indices.numel() <= _MOST_INDICES
        if is_lookup and _is_table(table):
            shape, found = tuple(table.shape), indices.detach().flatten()
            self._counts[shape] += len(found)
            if shape not in self._sparse_ns and torch.is_grad_enabled() and table.requires_grad:
                taken_ns = sparse_updates_ns(found, *shape) or {}
                self._sparse_ns[shape] = {name: ns / len(found) for name, ns in taken_ns.items()}
            before = self._rows.get(shape)
            self._rows[shape] = (found if before is None else torch.cat([before, found.to(before)])).unique()

    @property
    def facts(self) -> list[dict[str, Any]]:
        """``is_tied``: a table of that shape has other uses, which give it a dense gradient anyway;
        ``sparse_ns``: by optimizer, empty where none was tried.
        """
        return [
            {
                "table": list(shape),
                "rows": len(rows),
                "is_tied": shape in self._used,
                "sparse_ns": {
                    name: round(ns * self._counts[shape])
                    for name, ns in self._sparse_ns.get(shape, {}).items()
                },
            }
            for shape, rows in self._rows.items()
        ]


def _is_table(tensor: Tensor) -> bool:
    return isinstance(tensor, nn.Parameter) and tensor.dim() == 2 and len(tensor) >= _LARGE_TABLE
