"""What the model returns in the first steps of a script without any loss: whether a fix changes
an inference's results, and how much.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .identical import PLAIN, digest
from .patching import Patches
from .tensors import leaves

VALUES = 256  # of each result


class Outputs:
    """`place_for` gives the attribute to wrap for what ends a step, a forward or an answer.

    `seen`: of each result in which there is anything to compare its digest, and some values of its first
    tensor of floating point.
    """

    def __init__(self, place_for: Callable[[str], tuple[Any, str]]) -> None:
        self.seen: list[tuple[str, list[float]]] = []
        self._place_for = place_for
        self._patches = Patches()

    def begin(self, kind: str) -> None:
        owner, name = self._place_for(kind)
        self._patches.replace(owner, name, self._hashing(getattr(owner, name)))

    def stop(self) -> None:
        self._patches.restore()

    def _hashing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def forward(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if any(isinstance(leaf, (torch.Tensor, *PLAIN)) for leaf in leaves(result)):
                self.seen.append((digest(result), _values(result)))
            return result

        return forward


def _values(result: Any) -> list[float]:
    """Evenly spaced over the tensor."""
    floating = next(
        (
            tensor
            for tensor in leaves(result)
            if isinstance(tensor, torch.Tensor)
            and tensor.is_floating_point()
            and tensor.layout == torch.strided
        ),
        None,
    )
    if floating is None or not floating.numel():
        return []
    flat = floating.detach().reshape(-1)
    return flat[:: max(1, len(flat) // VALUES)][:VALUES].double().cpu().tolist()
