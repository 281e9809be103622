"""What models that are given one or two samples at a time take on the processor for several times as many."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from ..tensors import map_tensors, tensors_near
from .copies import CopyLook, Seen, copied, detached, in_turns, small_enough

_SAMPLES_AT_MOST = 2
_TIMES = 4


class BatchLook(CopyLook):
    what = "trying larger batches"
    outermost = True

    def modules(self, models: Iterable[nn.Module]) -> Iterable[nn.Module]:
        told = self._calls.forward_facts()
        if (told["batch_size"] or 0) > _SAMPLES_AT_MOST or (told["shape_count"] or 0) > 1:
            return []
        return small_enough(models)

    def counts(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Of a call in training, all whose tensors have that many samples."""
        given = [tensor for tensor in tensors_near((*args, *kwargs.values())) if tensor.dim()]
        sizes = {len(tensor) for tensor in given}
        of_numbers = any(tensor.dim() > 1 for tensor in given)
        return (
            torch.is_grad_enabled() and of_numbers and len(sizes) == 1 and 0 < max(sizes) <= _SAMPLES_AT_MOST
        )

    def tried(self, seen: Seen) -> dict[str, Any]:
        as_is, changed = copied(seen.module), copied(seen.module)

        def call_as_is() -> Any:
            args, kwargs = detached(seen.arguments)
            return as_is(*args, **kwargs)

        def call_with_more() -> Any:
            args, kwargs = map_tensors(_several, detached(seen.arguments))
            return changed(*args, **kwargs)

        told = in_turns(
            (as_is, call_as_is), (changed, call_with_more), with_graph=seen.with_graph, settled=True
        )
        return {"times": _TIMES, **told}


def _several(tensor: Tensor) -> Tensor:
    return torch.cat([tensor] * _TIMES) if tensor.dim() else tensor
