"""What smoothing labels by hand takes, beside `F.cross_entropy` with `label_smoothing`.

    python -m benchmarks label-smoothing

ms of the shortest of several timings each, with its backward, by threads, tokens and classes, on the CPU. By
a divergence: the smoothed distribution is filled, scattered into and compared by `F.kl_div`. By a product:
one-hot rows are smoothed by arithmetic, and multiplied by the logarithms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.two_ways import Case, compare, trained

SIZES = ((64, 1000), (320, 4500), (1280, 4500), (1024, 10_000))  # tokens, classes
SMOOTHING = 0.1


def by_divergence(target: Tensor, logits: Tensor) -> Tensor:
    logarithms, classes = torch.log_softmax(logits, -1), logits.shape[1]
    smoothed = logarithms.detach().clone().fill_(SMOOTHING / (classes - 1))
    smoothed.scatter_(1, target.unsqueeze(1), 1 - SMOOTHING)
    return F.kl_div(logarithms, smoothed, reduction="sum")


def by_product(target: Tensor, logits: Tensor) -> Tensor:
    one_hot = torch.zeros_like(logits).scatter(1, target.unsqueeze(1), 1)
    smoothed = one_hot * (1 - SMOOTHING) + (1 - one_hot) * SMOOTHING / (logits.shape[1] - 1)
    return -(smoothed * F.log_softmax(logits, 1)).sum(1)


def as_one(target: Tensor, logits: Tensor) -> Tensor:
    return F.cross_entropy(logits, target, label_smoothing=SMOOTHING, reduction="sum")


def cases() -> Iterator[Case]:
    for tokens, classes in SIZES:
        logits = torch.randn(tokens, classes, requires_grad=True)
        target = torch.randint(classes, (tokens,))
        one = partial(trained, partial(as_one, target), logits)
        for name, way in (("divergence", by_divergence), ("product", by_product)):
            yield Case((name, tokens, classes), partial(trained, partial(way, target), logits), one)


def main(arguments: Sequence[str]) -> int:
    columns = ("by hand", "tokens", "classes", "by hand ms", "as one ms")
    return compare("label-smoothing", __doc__, arguments, columns, cases)
