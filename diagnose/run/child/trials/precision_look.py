"""What models of 64-bit floats take on the processor in 32 bits.

Vector units compute twice as many 32-bit numbers at a time, but another library may do it: small convolutions
can take longer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from ..tensors import map_tensors
from .copies import CopyLook, Seen, copied, detached, in_turns, small_enough


class PrecisionLook(CopyLook):
    what = "trying models in 32 bits"
    outermost = True

    def modules(self, models: Iterable[nn.Module]) -> Iterable[nn.Module]:
        return [
            model
            for model in small_enough(models)
            if any(parameter.dtype == torch.float64 for parameter in model.parameters())
        ]

    def counts(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        return True

    def tried(self, seen: Seen) -> dict[str, Any]:
        as_is, changed = copied(seen.module), copied(seen.module).float()
        in_32_bits = map_tensors(_single, seen.arguments)

        def call(model: Any, arguments: Any) -> Any:
            args, kwargs = detached(arguments)
            return model(*args, **kwargs)

        return in_turns(
            (as_is, lambda: call(as_is, seen.arguments)),
            (changed, lambda: call(changed, in_32_bits)),
            with_graph=seen.with_graph,
        )


def _single(tensor: Tensor) -> Tensor:
    return tensor.float() if tensor.dtype == torch.float64 else tensor
