"""Benchmarks of two ways to one result, on the CPU: what the second takes of the first one's time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from benchmarks.options import parser
from benchmarks.shortest import shortest_ms
from benchmarks.tables import table

THREADS, TIMINGS = (1, 2), 12


def trained(way: Callable[..., Tensor], *given: Tensor) -> None:
    """With its backward."""
    way(*given).sum().backward()


def alone(way: Callable[..., Tensor], *given: Tensor) -> None:
    with torch.no_grad():
        way(*given)


class Case(NamedTuple):
    """``told``: the cells that say which case it is."""

    told: tuple[object, ...]
    first: Callable[[], object]
    second: Callable[[], object]


def compare(
    name: str,
    about: str | None,
    arguments: Sequence[str],
    columns: Sequence[str],
    cases: Callable[[], Iterable[Case]],
    timings: int = TIMINGS,
) -> int:
    """Print a table of the cases, with one thread and with two: ms of the shortest of several timings of each
    way, and what is left with the second. ``columns``: what is told, and both ways.
    """
    parser(name, about).parse_args(arguments)
    torch.manual_seed(0)
    rows = []
    for threads in THREADS:
        torch.set_num_threads(threads)
        for case in cases():
            first_ms, second_ms = (shortest_ms(way, timings) for way in (case.first, case.second))
            left = f"{second_ms / first_ms:.2f}"
            rows.append((threads, *case.told, f"{first_ms:.3f}", f"{second_ms:.3f}", left))
    print(table(["threads", *columns, "left"], rows))
    return 0
