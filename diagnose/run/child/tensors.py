"""The tensors among what a model is given or gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch


def tensors_in(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    """Also those in a list, a tuple or a dictionary among them."""
    for value in values:
        inside = (
            value.values()
            if isinstance(value, Mapping)
            else value
            if isinstance(value, (list, tuple))
            else (value,)
        )
        yield from (item for item in inside if isinstance(item, torch.Tensor))
