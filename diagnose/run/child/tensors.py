"""The tensors among what a function is given or gives."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

import torch


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """In order: itself, or those in lists, tuples and mappings, however nested."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple, Mapping)):
        for part in _parts(value):
            yield from tensors_in(part)


def leaves(value: Any, deepest: int = 8) -> Iterator[Any]:
    """What lies in lists, tuples, mappings and the attributes of plain objects (of a dataclass, say)."""
    inside = value if isinstance(value, (list, tuple, Mapping)) else attributes_of(value)
    if inside is None or not deepest:
        yield value
        return
    for part in _parts(inside):
        yield from leaves(part, deepest - 1)


def attributes_of(value: Any) -> dict[str, Any] | None:
    """Of an object that only holds things; None of others: tensors, numbers, functions, modules."""
    if isinstance(value, torch.Tensor) or callable(value):
        return None
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
    known = getattr(value, "__dict__", None)
    return known if isinstance(known, dict) and not isinstance(value, ModuleType) else None


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


def map_tensors(function: Callable[[torch.Tensor], torch.Tensor], value: Any) -> Any:
    """`value` with its tensors replaced, also those inside tuples, lists and dictionaries;
    the very object if none of them is.
    """
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, dict):
        changes = {
            key: mapped
            for key, inside in value.items()
            if (mapped := map_tensors(function, inside)) is not inside
        }
        return _with_items(value, changes) if changes else value
    if type(value) in (list, tuple) or hasattr(value, "_make"):
        items = [map_tensors(function, inside) for inside in value]
        if all(item is inside for item, inside in zip(items, value, strict=True)):
            return value
        return value._make(items) if hasattr(value, "_make") else type(value)(items)
    return value


def _with_items(mapping: dict[Any, Any], changes: dict[Any, Any]) -> dict[Any, Any]:
    changed = copy.copy(mapping)  # also of classes that keep their items as attributes too
    for key, value in changes.items():
        changed[key] = value
    return changed
