"""Batch norms of rows that a permutation makes look like signals, [batch, channels, length], on a processor:
as `norm(layer(x).permute(0, 2, 1))` has it. torch then goes through memory with a stride, forward and
backward. Of the rows as they lie there, [batch · length, channels], it gives the same; both ways are tried on
what the script's is given.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch.nn.functional as F
from torch import Tensor

from .product_trial import LONG_NS, share_left

_ORDER = ("input", "running_mean", "running_var", "weight", "bias", "training", "momentum", "eps")


class PermutedNorm(NamedTuple):
    """``statistics``: the running mean and variance where they are used, and not changed."""

    signals: Tensor
    statistics: tuple[Tensor | None, Tensor | None]
    weight: Tensor | None
    bias: Tensor | None
    eps: float


def permuted_norm_of(name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> PermutedNorm | None:
    """None for another call."""
    given = dict(zip(_ORDER, arguments, strict=False)) | options
    signals = given.get("input")
    if name != "batch_norm" or not isinstance(signals, Tensor) or not _is_permuted(signals):
        return None
    weight, bias = given.get("weight"), given.get("bias")
    if (weight is None) is not (bias is None):
        return None
    uses_batch = given.get("training", False)
    statistics = (None, None) if uses_batch else (given["running_mean"], given["running_var"])
    return PermutedNorm(signals, statistics, weight, bias, given.get("eps", 1e-5))


def _is_permuted(signals: Tensor) -> bool:
    here = signals.device.type == "cpu" and signals.dim() == 3
    return here and not signals.is_contiguous() and signals.transpose(1, 2).is_contiguous()


def left_on_rows(norm: PermutedNorm, ns: int, *, is_trained: bool) -> float | None:
    """The share of its time, and of its backward's (``is_trained``), that is left on the rows; None where it
    takes too long to try. ``ns``: what the script's took.
    """
    if ns > LONG_NS:
        return None
    uses_batch = norm.statistics == (None, None)
    affine = [one for one in (norm.weight, norm.bias) if one is not None]

    def of(signals: Tensor, *affine: Tensor) -> Tensor:
        weight, bias = affine or (None, None)
        return F.batch_norm(signals, *norm.statistics, weight, bias, uses_batch, eps=norm.eps)

    def of_rows(signals: Tensor, *affine: Tensor) -> Tensor:
        batch, channels, length = signals.shape
        return of(as_rows(signals), *affine).view(batch, length, channels).transpose(1, 2)

    given = [norm.signals, *affine]
    return share_left((of, given), (of_rows, given), is_trained=is_trained)


def as_rows(signals: Tensor) -> Tensor:
    """[batch, channels, length] as [batch · length, channels], in the same memory."""
    return signals.transpose(1, 2).flatten(0, 1)
