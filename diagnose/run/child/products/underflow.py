"""Exponentials of numbers so far below zero that what they give is less than the smallest normal number, as
those of narrow Gaussians and of scores masked with -1e4: MKL, which torch calls for them, takes such numbers
a slower way. Both that and the same with a lower bound are tried on what the script's call is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from ..values import Call
from .product_trial import LONG_NS, share_left

_NUMBERS_AT_LEAST, _UNDERFLOWS_AT_LEAST = 4096, 0.05  # fewer numbers, or less of them, cost little
_BOUNDS = {torch.float32: -80.0, torch.float64: -700.0}  # above the underflow, by a factor of a thousand
_LEAST = -1e30  # for rows of nothing but -inf


class Exponential(NamedTuple):
    """As it is, the same with a lower bound, and what both are given."""

    as_is: Callable[[Tensor], Tensor]
    bounded: Callable[[Tensor], Tensor]
    exponents: Tensor


def underflowing(call: Call) -> Exponential | None:
    """An `exp` or `logsumexp`, on a processor, of which a part underflows; None for another call."""
    if call.name not in {"exp", "logsumexp"} or len(call.given) != 1:
        return None
    exponents = call.given[0]
    bound = _BOUNDS.get(exponents.dtype)
    if bound is None or exponents.device.type != "cpu" or exponents.numel() < _NUMBERS_AT_LEAST:
        return None
    if call.name == "exp":
        found = Exponential(torch.exp, lambda given: bounded_exp(given, bound), exponents)
        below = exponents.detach()
    else:
        arguments = dict(zip(("input", "dim", "keepdim"), call.arguments, strict=False)) | call.options
        dim, keepdim = arguments.get("dim"), bool(arguments.get("keepdim", False))
        if dim is None:
            return None
        found = Exponential(
            lambda given: torch.logsumexp(given, dim, keepdim),
            lambda given: bounded_sum(given, dim, keepdim, bound),
            exponents,
        )
        below = exponents.detach() - exponents.detach().amax(dim, keepdim=True)
    underflows = below < math.log(torch.finfo(exponents.dtype).tiny)
    return found if int(underflows.sum()) >= _UNDERFLOWS_AT_LEAST * underflows.numel() else None


def bounded_exp(exponents: Tensor, bound: float) -> Tensor:
    """What `exp` gives, but for what is smaller than that of ``bound``. The backward of `threshold` takes a
    third of that of `clamp`.
    """
    return F.threshold(exponents, bound, bound).exp()


def bounded_sum(exponents: Tensor, dim: int | tuple[int, ...], keepdim: bool, bound: float) -> Tensor:
    """What `logsumexp` gives, but for rounding: none lies further below the largest than ``bound``."""
    largest = exponents.detach().amax(dim, keepdim=True).clamp_min(_LEAST)
    found = bounded_exp(exponents - largest, bound).sum(dim, keepdim=True).log() + largest
    return found if keepdim else found.squeeze(dim)


def left_with_bound(found: Exponential, ns: int, *, is_trained: bool) -> float | None:
    """The share of its time, and of its backward's (``is_trained``), that is left with the bound; None where
    it takes too long to try. ``ns``: what the script's took.
    """
    if ns > LONG_NS:
        return None
    given = [found.exponents]
    return share_left((found.as_is, given), (found.bounded, given), is_trained=is_trained)
