"""What exponentials take that underflow, and what with a lower bound of -80, on the CPU.

    python -m benchmarks underflow

By how much of 200,000 numbers underflows: all a little (results are denormal), all far, half of them far, and
half of them `-inf`, as masks have them; `exp`, and `logsumexp` of rows of 100.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
from torch import Tensor

from benchmarks.two_ways import Case, alone, compare, trained
from diagnose.run.child.products.underflow import bounded_exp, bounded_sum

_BOUND = -80.0


def exponents() -> Iterator[tuple[str, Tensor]]:
    rows = torch.rand(2000, 100)
    half = torch.rand(2000, 100) < 0.5
    yield "none", rows
    yield "all: -95", rows - 95.5
    yield "all: -200", rows - 200
    yield "half: -10000", rows.masked_fill(half, -1e4)
    yield "half: -inf", rows.masked_fill(half, -math.inf)


def cases() -> Iterator[Case]:
    ways: list[tuple[str, Callable[..., Tensor], Callable[..., Tensor]]] = [
        ("exp", torch.exp, partial(bounded_exp, bound=_BOUND)),
        (
            "logsumexp",
            partial(torch.logsumexp, dim=-1),
            partial(bounded_sum, dim=-1, keepdim=False, bound=_BOUND),
        ),
    ]
    for what, given in exponents():
        for way in (alone, trained):
            leaf = given.clone().requires_grad_()
            for name, as_is, bounded in ways:
                with_backward = "yes" if way is trained else "no"
                yield Case(
                    (name, what, with_backward), partial(way, as_is, leaf), partial(way, bounded, leaf)
                )


def main(arguments: Sequence[str]) -> int:
    columns = ("operator", "underflows", "backward", "as it is", "bounded")
    return compare("underflow", __doc__, arguments, columns, cases)
