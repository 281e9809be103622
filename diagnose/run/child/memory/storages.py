"""The memory behind tensors that are alive, and what it is for."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from itertools import compress
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.optim.optimizer import Optimizer

OBJECTS_AT_MOST = 5_000_000


class Owner(NamedTuple):
    """``part``: parameters, gradients or state; ``name``: of the parameter it belongs to, if known."""

    part: str
    name: str


def storage_of(tensor: Tensor) -> torch.UntypedStorage | None:
    """None for a tensor without memory of its own, as a sparse one, one on `meta`, and one in a file."""
    try:
        storage = tensor.untyped_storage()
        lies_in = getattr(storage, "filename", None)  # shared memory has a name, too, but no such path
    except (NotImplementedError, RuntimeError):
        return None
    in_file = lies_in and os.path.exists(lies_in)
    return None if in_file or storage.device.type == "meta" else storage


class Living(NamedTuple):
    """What Python knows of, and all gradients; ``models``: those that are in no other."""

    tensors: list[Tensor]
    models: list[nn.Module]
    optimizers: list[Any]


def living() -> Living:
    """Not to be kept, for it keeps what it holds alive. Raises RuntimeError where there are so many objects
    that looking through them would take seconds.
    """
    objects = gc.get_objects()
    if len(objects) > OBJECTS_AT_MOST:
        raise RuntimeError(f"there are {len(objects):,} objects")
    # `isinstance` asks some objects, which then run code of theirs
    wanted = {kind for kind in set(map(type, objects)) if issubclass(kind, (Tensor, nn.Module, Optimizer))}
    found = list(compress(objects, map(wanted.__contains__, map(type, objects))))
    tensors, modules, optimizers = (
        [one for one in found if issubclass(type(one), kind)] for kind in (Tensor, nn.Module, Optimizer)
    )
    inner = {id(child) for module in modules for child in module.children()}
    alive = Living(tensors, [module for module in modules if id(module) not in inner], optimizers)
    gradients = [tensor for tensor, owner in _owned(alive) if owner.part == "gradients"]
    return alive._replace(tensors=list({id(tensor): tensor for tensor in (*tensors, *gradients)}.values()))


def owners(alive: Living) -> dict[int, Owner]:
    """What belongs to these models and optimizers, by the storage's `_cdata`."""
    found: dict[int, Owner] = {}
    for tensor, owner in _owned(alive):
        if (storage := storage_of(tensor)) is not None:
            found.setdefault(storage._cdata, owner)
    return found


def _owned(alive: Living) -> Iterator[tuple[Tensor, Owner]]:
    """A tensor may come again; what is said of it first holds."""
    names: dict[int, str] = {}
    for model in alive.models:
        for name, parameter in model.named_parameters():
            names[id(parameter)] = name
            yield from _with_gradient(parameter, name)
        for name, buffer in model.named_buffers():
            yield buffer, Owner("parameters", name)
    for optimizer in alive.optimizers:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                yield from _with_gradient(parameter, names.get(id(parameter), ""))
        for parameter, state in dict(getattr(optimizer, "state", {})).items():
            for value in state.values() if isinstance(state, dict) else ():
                for tensor in value if isinstance(value, (list, tuple)) else (value,):
                    if isinstance(tensor, Tensor):
                        yield tensor, Owner("state", names.get(id(parameter), ""))


def _with_gradient(parameter: Tensor, name: str) -> Iterator[tuple[Tensor, Owner]]:
    yield parameter, Owner("parameters", name)
    if parameter.grad is not None:
        yield parameter.grad, Owner("gradients", name)
