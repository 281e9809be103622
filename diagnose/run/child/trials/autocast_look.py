"""What models that are called under autocast on the processor take in the number format of their weights.

A processor without instructions for 16-bit products computes them more slowly than float32.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from .copies import CopyLook, Seen, copied, detached, in_turns, small_enough


class AutocastLook(CopyLook):
    what = "trying models without autocast"
    outermost = True
    under_autocast = True

    def modules(self, models: Iterable[nn.Module]) -> Iterable[nn.Module]:
        return small_enough(models)

    def counts(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Every call; the format is that of the last one, for autocast has ended when copies are called."""
        self._dtype = torch.get_autocast_dtype("cpu")
        return True

    def tried(self, seen: Seen) -> dict[str, Any]:
        model = copied(seen.module)

        def call(*, with_autocast: bool) -> Any:
            args, kwargs = detached(seen.arguments)
            with torch.autocast("cpu", dtype=self._dtype, enabled=with_autocast):
                return model(*args, **kwargs)

        return in_turns(
            (model, lambda: call(with_autocast=True)),
            (model, lambda: call(with_autocast=False)),
            with_graph=seen.with_graph,
        )
