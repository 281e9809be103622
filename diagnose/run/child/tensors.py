"""The tensors among what a function is given or gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """In order: itself, or those in lists, tuples and mappings, however nested."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple, Mapping)):
        for part in _parts(value):
            yield from tensors_in(part)


def tensors_near(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    """Those among the values, and right in a list, tuple or mapping among them: for hooks of plain steps,
    which must not walk through whatever a script hands around.
    """
    for value in values:
        yield from (part for part in _parts(value) if isinstance(part, torch.Tensor))


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, (list, tuple)) else (value,)
