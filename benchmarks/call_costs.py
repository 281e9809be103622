"""What a call on a small tensor takes, whatever its size, beside an addition of four numbers.

    python -m benchmarks call-costs

Many calls of one row each against one call of all rows, forward and backward: the difference, a row, is what
the fixed cost of a call comes to. µs, the shortest of several timings each; `additions`: the same as a
multiple of what an addition of four numbers takes (a run measures that: `profiler_costs.call_ns`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from benchmarks.options import parser
from benchmarks.shortest import shortest_ms
from benchmarks.tables import table

ROWS, TIMINGS = 64, 40
SMALL = 20  # numbers of a row


def shortest_us(call: Callable[[], object]) -> float:
    return shortest_ms(call, TIMINGS) * 1e3


def of_a_row_us(operator: Callable[[Tensor], Tensor], width: int) -> float:
    rows = [torch.randn(1, width, requires_grad=True) for _ in range(ROWS)]
    whole = torch.randn(ROWS, width, requires_grad=True)

    def train(given: Sequence[Tensor]) -> None:
        total = torch.zeros(())
        for tensor in given:
            total = total + operator(tensor).sum()
        total.backward()

    def sum_alone() -> None:
        total = torch.zeros(())
        for tensor in rows:
            total = total + tensor.sum()
        total.backward()

    return (
        shortest_us(lambda: train(rows)) - shortest_us(sum_alone) - shortest_us(lambda: train([whole]))
    ) / ROWS


def main(arguments: Sequence[str]) -> int:
    parser("call-costs", __doc__).parse_args(arguments)
    torch.manual_seed(0)
    four = torch.ones(4)
    addition_us = shortest_us(lambda: [torch.add(four, four) for _ in range(100)]) / 100
    layer = nn.Linear(SMALL, SMALL)
    operators: dict[str, Callable[[Tensor], Tensor]] = {
        "x - 1.5": lambda x: x - 1.5,
        "abs": torch.abs,
        "tanh": torch.tanh,
        "mean": lambda x: x.mean(1),
        "softmax": lambda x: x.softmax(1),
        f"Linear({SMALL}, {SMALL})": layer,
    }
    found = []
    for name, operator in operators.items():
        row_us = of_a_row_us(operator, SMALL)
        found.append((name, f"{row_us:.1f}", f"{row_us / addition_us:.0f}"))
    print(table(["operator", "µs a call", "additions"], [("an addition", f"{addition_us:.2f}", "1"), *found]))
    return 0
