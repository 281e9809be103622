"""What models take on the processor for several times as many samples: those that are given one or two at a
time, and those that are given several batches for each update of the weights.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from ..facts.machine import available_memory_bytes
from ..facts.usage import resident_bytes
from ..tensors import map_tensors, tensors_near
from .copies import CopyLook, Seen, copied, detached, in_turns, small_enough

_SAMPLES_AT_MOST = 2  # but of batches whose gradients accumulate
_TIMES = 4
_PIECES_AT_MOST = 8  # put into one batch


class BatchLook(CopyLook):
    what = "trying larger batches"
    outermost = True
    _accumulates, _times = False, _TIMES  # whether an update is of several batches, and what is put into one

    def modules(self, models: Iterable[nn.Module]) -> Iterable[nn.Module]:
        told = self._calls.forward_facts()
        pieces = self._calls.pieces_per_update()
        self._accumulates = pieces > 1
        self._times = min(pieces, _PIECES_AT_MOST) if self._accumulates else _TIMES
        is_small = self._accumulates or (told["training_batch_size"] or 0) <= _SAMPLES_AT_MOST
        if not is_small or (told["training_shape_count"] or 0) > 1 or not _has_room(self._times):
            return []
        return small_enough(models)

    def counts(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Of a call in training, all whose tensors have as many samples."""
        given = [tensor for tensor in tensors_near((*args, *kwargs.values())) if tensor.dim()]
        sizes = {len(tensor) for tensor in given}
        of_numbers = any(tensor.dim() > 1 for tensor in given)
        if not torch.is_grad_enabled() or not of_numbers or len(sizes) != 1:
            return False
        return max(sizes) > 0 and (self._accumulates or max(sizes) <= _SAMPLES_AT_MOST)

    def tried(self, seen: Seen) -> dict[str, Any]:
        """``accumulates``: the batches of one update were put into one."""
        as_is, changed = copied(seen.module), copied(seen.module)

        def call_as_is() -> Any:
            args, kwargs = detached(seen.arguments)
            return as_is(*args, **kwargs)

        def call_with_more() -> Any:
            args, kwargs = map_tensors(lambda tensor: _several(tensor, self._times), detached(seen.arguments))
            return changed(*args, **kwargs)

        told = in_turns(
            (as_is, call_as_is), (changed, call_with_more), with_graph=seen.with_graph, settled=True
        )
        return {"times": self._times, "accumulates": self._accumulates, **told}


def _has_room(times: int) -> bool:
    """For so many times all that the process holds, of which a batch needs a part."""
    available = available_memory_bytes()
    return available is None or times * resident_bytes() <= available


def _several(tensor: Tensor, times: int) -> Tensor:
    return torch.cat([tensor] * times) if tensor.dim() else tensor
