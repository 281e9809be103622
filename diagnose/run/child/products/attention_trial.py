"""Attention written out as product, softmax, product: what `scaled_dot_product_attention` leaves of its time.

On a GPU reading and writing the scores is saved. A CPU's fused kernel gains by that for long sequences, and
hardly for 50 to 130 tokens (`python -m benchmarks fused-attention`): there both are tried on tensors of the
same shapes.
"""

from __future__ import annotations

import re
from functools import partial
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from ..values import Call
from .product_trial import LONG_NS, share_left

_SOFTMAX = {"softmax", "_softmax"}
_PRODUCTS = {"matmul", "__matmul__", "bmm", "einsum"}
# what is done to scores before their softmax, one pass over them each: the scale, a mask
_PASS = re.compile(r"(__i?)?(add|sub|mul|div|truediv|masked_fill|where)(__|_)?")
_DIMENSIONS = (3, 4)  # [batch and heads, queries, keys], or batch and heads apart
_FEW = 2  # queries: with one, no kernel has anything to save


class Attention(NamedTuple):
    """``weights`` that its softmax gives, [… , queries, keys]; ``width`` of a value; ``passes`` over the
    scores between the first product and the softmax.
    """

    weights: Tensor
    width: int
    passes: int


class WrittenAttention:
    """Told of the calls of a step: a product of what a softmax has given, with values for each key."""

    def __init__(self) -> None:
        # by the number of the value: passes over scores, and over those that a softmax has made weights of
        self._scores: dict[int, int] = {}
        self._weights: dict[int, int] = {}

    def call(self, call: Call, result: Tensor) -> Attention | None:
        """The attention whose second product that is, if it can be tried."""
        if not call.given or result.dim() not in _DIMENSIONS or result.shape[-2] < _FEW:
            return None
        if _PASS.fullmatch(call.name):
            self._scores[call.number] = max(self._scores.get(number, 0) for number in call.numbers) + 1
        elif call.name in _SOFTMAX:
            self._weights[call.number] = self._scores.get(call.numbers[0], 0)
        elif call.name in _PRODUCTS and len(call.given) == 2 and call.numbers[0] in self._weights:
            return _attention(call.given[0], call.given[1], self._weights[call.numbers[0]])
        return None


def _attention(weights: Tensor, values: Tensor, passes: int) -> Attention | None:
    """For `einsum` values may have their dimensions in another order, the width last."""
    width = values.shape[-1]
    fits = values.dim() == weights.dim() and values.numel() == weights[..., 0, :].numel() * width
    on_cpu = all(
        tensor.device.type == "cpu" and tensor.layout == torch.strided for tensor in (weights, values)
    )
    return Attention(weights, width, passes) if fits and on_cpu and weights.is_floating_point() else None


def left_by_fused(attention: Attention, ns: int, *, is_trained: bool) -> float | None:
    """The share of its calls' time, and of their backward's (``is_trained``), that the fused one leaves; None
    where it takes too long to try. ``ns``: what the script's second product took.
    """
    if ns > LONG_NS:
        return None
    weights, width, passes = attention
    queries, keys = weights.shape[-2:]
    given = [
        torch.ones(*weights.shape[:-2], count, width, dtype=weights.dtype).requires_grad_(is_trained)
        for count in (queries, keys, keys)
    ]
    return share_left((partial(written, passes), given), (fused, given), is_trained=is_trained)


def written(passes: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    scores = queries @ keys.transpose(-1, -2)
    for _ in range(passes):
        scores = scores * 0.5
    return scores.softmax(-1) @ values


def fused(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """On a CPU torch fuses it for four dimensions only (`sdp_utils_cpp.h`: `check_tensor_shapes`)."""
    if queries.dim() == 4:
        return F.scaled_dot_product_attention(queries, keys, values)
    return fused(queries.unsqueeze(0), keys.unsqueeze(0), values.unsqueeze(0)).squeeze(0)
