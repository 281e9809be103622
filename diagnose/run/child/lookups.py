"""How many different rows of embedding tables a step looks up: a trace holds how many indices there are, and
these may repeat.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .inspection import inside_a_transform

_LOOKUPS = {"embedding", "embedding_bag"}
_LARGE_TABLE, _MOST_INDICES = 1_000, 10_000_000


class Lookups:
    """Told of each call of the step."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, ...], Tensor] = {}  # different ones, by the table's shape

    def call(self, name: str, given: Sequence[Tensor]) -> None:
        if name not in _LOOKUPS or len(given) < 2 or inside_a_transform():
            return
        indices, table = given[:2]
        is_lookup = table.dim() == 2 and not indices.is_floating_point() and indices.numel() > 0
        if is_lookup and len(table) >= _LARGE_TABLE and indices.numel() <= _MOST_INDICES:
            shape, found = tuple(table.shape), indices.detach().flatten()
            before = self._rows.get(shape)
            self._rows[shape] = (found if before is None else torch.cat([before, found.to(before)])).unique()

    @property
    def facts(self) -> list[dict[str, Any]]:
        return [{"table": list(shape), "rows": len(rows)} for shape, rows in self._rows.items()]
