"""What is not timed, done on all cores at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

FEW = 8  # items, that are not worth starting processes for


def mapped(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """What the function, which other processes can import, returns for each item, in their order.

    Raises what it raises.
    """
    cores = min(len(os.sched_getaffinity(0)), len(items))
    if len(items) <= FEW or cores < 2:
        return list(map(function, items))
    with ProcessPoolExecutor(cores, get_context("spawn")) as pool:
        return list(pool.map(function, items))
