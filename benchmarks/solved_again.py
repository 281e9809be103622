"""What it takes to solve twenty linear systems with one matrix, one after the other.

    python -m benchmarks solved-again

By `torch.linalg.solve`, with the matrix's inverse, and with its LU factors: ms of the shortest of several
timings each, forward and backward, by sizes and whether gradients go through the matrix, on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from benchmarks.options import parser
from benchmarks.shortest import shortest_ms
from benchmarks.tables import table

SIZES = [(32, 1), (100, 1), (224, 1), (224, 12), (400, 12)]  # rows, right-hand sides
TIMES, TIMINGS = 20, 6


def by_solve(matrix: Tensor) -> Callable[[Tensor], Tensor]:
    return partial(torch.linalg.solve, matrix)


def by_inverse(matrix: Tensor) -> Callable[[Tensor], Tensor]:
    return torch.linalg.inv(matrix).__matmul__


def by_factors(matrix: Tensor) -> Callable[[Tensor], Tensor]:
    return partial(torch.linalg.lu_solve, *torch.linalg.lu_factor(matrix))


def solved(way: Callable[[Tensor], Callable[[Tensor], Tensor]], matrix: Tensor, right: Tensor) -> None:
    solution, state = way(matrix), right
    for _ in range(TIMES):
        state = solution(state + right)
    state.sum().backward()


def main(arguments: Sequence[str]) -> int:
    parser("solved-again", __doc__).parse_args(arguments)
    torch.manual_seed(0)
    found = []
    for rows, columns in SIZES:
        for is_trained in (False, True):
            matrix = (4 * torch.eye(rows) + torch.randn(rows, rows) / rows**0.5).requires_grad_(is_trained)
            right = torch.randn(rows, columns, requires_grad=True)
            ms = [
                shortest_ms(partial(solved, way, matrix, right), TIMINGS)
                for way in (by_solve, by_inverse, by_factors)
            ]
            size, trained = f"{rows} rows, {columns}", "yes" if is_trained else "no"
            found.append((size, trained, *(f"{one:.2f}" for one in ms), f"{ms[1] / ms[0]:.2f}"))
    print(table(["size", "trained", "solve ms", "inverse ms", "factors ms", "left with the inverse"], found))
    return 0
