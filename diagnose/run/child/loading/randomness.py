"""Whether fetching a batch draws random numbers: without any, samples are alike in every epoch."""

from __future__ import annotations

import random
import sys
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..guard import guarded

_DEPTH, _OBJECTS_AT_MOST, _ITEMS_LOOKED_AT = (
    4,
    500,
    20,
)  # a dataset in a Subset, its Compose, its transforms, their own parts

_WITHOUT = (
    "builtins",
    "torch",
    "numpy",
    "pandas",
    "PIL",
)  # no module of these keeps a generator of a script's


def draws_random(dataset: Any, fetched: Callable[[], Any]) -> tuple[Any, bool | None]:
    """The batch, and whether fetching it moved a generator in reach; None where the comparison fails.
    About 50 µs.
    """
    before = generator_states(dataset)
    batch = fetched()
    return batch, None if before is None else generator_states(dataset) != before


@guarded("asking whether loading draws random numbers")
def generator_states(dataset: Any) -> list[str] | None:
    """What all generators in reach stand at: the global ones, and those that the dataset holds or
    that lie beside its class.
    """
    numpy = sys.modules.get("numpy")
    states = [repr(hash(random.getstate())), _of_torch(torch.default_generator)]
    if numpy is not None:
        states.append(_of_legacy(numpy.random))
    return states + [_state(value) for value in _reached(dataset) if is_generator(value)]


def _reached(dataset: Any) -> Iterator[Any]:
    """The dataset, what it holds, and the generators beside the classes of these, each once."""
    waiting: deque[tuple[Any, int]] = deque([(dataset, 0)])
    seen: set[int] = set()
    modules: set[str] = set()
    while waiting and len(seen) < _OBJECTS_AT_MOST:
        value, depth = waiting.popleft()
        if id(value) in seen:
            continue
        seen.add(id(value))
        yield value
        if depth < _DEPTH and not isinstance(value, torch.Tensor):
            inside = list(getattr(value, "__dict__", {}).values())
            inside += value[:_ITEMS_LOOKED_AT] if isinstance(value, (list, tuple)) else []
            module = type(value).__module__
            if module not in modules and module.partition(".")[0] not in _WITHOUT:
                modules.add(module)
                beside = list(getattr(sys.modules.get(module), "__dict__", {}).values())
                inside += [one for one in beside if is_generator(one)]
            waiting.extend((one, depth + 1) for one in inside)


def is_generator(value: Any) -> bool:
    """Whether it gives other random numbers once it was asked for some. numpy is not imported for that."""
    return _reader(value) is not None


def _reader(value: Any) -> Callable[[Any], str] | None:
    """How the state of such a generator is read; None for anything else."""
    if isinstance(value, random.Random):
        return lambda generator: repr(hash(generator.getstate()))
    if isinstance(value, torch.Generator):
        return _of_torch
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.random.Generator):
        return lambda generator: repr(generator.bit_generator.state)
    if numpy is not None and isinstance(value, numpy.random.BitGenerator):
        return lambda generator: repr(generator.state)
    if numpy is not None and isinstance(value, numpy.random.RandomState):
        return _of_legacy
    return None


def _state(generator: Any) -> str:
    reader = _reader(generator)
    return reader(generator) if reader else ""


def _of_torch(generator: torch.Generator) -> str:
    return repr(hash(bytes(generator.get_state().numpy()))) if generator.device.type == "cpu" else ""


def _of_legacy(generator: Any) -> str:
    """numpy's older kind, and its global one."""
    _, words, position, *rest = generator.get_state()
    return repr((hash(words.tobytes()), position, rest))
