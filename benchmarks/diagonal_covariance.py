"""What a normal distribution with a diagonal matrix of covariances takes, beside `Independent(Normal(…), 1)`.

    python -m benchmarks diagonal-covariance

µs of a step of training (probabilities, entropy and their backward) and of a sample with its probability, the
shortest of five timings each, on one thread; and the share that `Independent` takes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor
from torch.distributions import Distribution, Independent, MultivariateNormal, Normal

from benchmarks.options import parser
from benchmarks.shortest import shortest_ms
from benchmarks.tables import table

SIZES = [(1, 2), (64, 2), (64, 6), (256, 6), (1_024, 8)]  # rows, and numbers in each
TIMINGS, ROUNDS = 5, 8
Made = Callable[[Tensor, Tensor], Distribution]


def with_matrix(mean: Tensor, log_std: Tensor) -> Distribution:
    return MultivariateNormal(mean, torch.diag_embed((2 * log_std).exp().expand_as(mean)))


def independent(mean: Tensor, log_std: Tensor) -> Distribution:
    return Independent(Normal(mean, log_std.exp().expand_as(mean)), 1)


def trained(made: Made, mean: Tensor, log_std: Tensor) -> None:
    policy = made(mean, log_std)
    (policy.log_prob(torch.zeros_like(mean)).mean() + policy.entropy().mean()).backward()


def sampled(made: Made, mean: Tensor, log_std: Tensor) -> None:
    with torch.no_grad():
        policy = made(mean, log_std)
        policy.log_prob(policy.sample())


def main(arguments: Sequence[str]) -> int:
    parser("diagonal-covariance", __doc__).parse_args(arguments)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    found = []
    for rows, width in SIZES:
        mean = torch.randn(rows, width, requires_grad=True)
        log_std = torch.zeros(width, requires_grad=True)
        for what in (trained, sampled):
            matrix_us, plain_us = (
                1e3 * shortest_ms(partial(what, made, mean, log_std), TIMINGS, ROUNDS)
                for made in (with_matrix, independent)
            )
            share = f"{plain_us / matrix_us:.0%}"
            found.append((f"{rows:,}", width, what.__name__, f"{matrix_us:,.0f}", f"{plain_us:,.0f}", share))
    print(table(["rows", "numbers", "", "MultivariateNormal", "Independent", "left"], found))
    return 0
