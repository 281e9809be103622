"""Attention written out as product, softmax, product: what `scaled_dot_product_attention` leaves of its time.

On a GPU reading and writing the scores is saved. A CPU's fused kernel gains by that for long sequences, and
hardly for 50 to 130 tokens (`python -m benchmarks fused-attention`): there both are tried on tensors of the
same shapes.
"""

from __future__ import annotations

import inspect
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


class _Way(NamedTuple):
    """To scores, or to weights made of them: ``made``, numbers of what was computed, the first product
    included; ``passes`` over the scores.
    """

    made: tuple[int, ...] = ()
    passes: int = 0
    drops: bool = False

    def then(self, call: Call, *, passes: int = 0, drops: bool = False) -> _Way:
        return _Way((*self.made, call.number), self.passes + passes, self.drops or drops)


class Attention(NamedTuple):
    """``weights`` that its softmax gives, [… , queries, keys]; ``width`` of a value; the ``way`` to them."""

    weights: Tensor
    width: int
    way: _Way


class WrittenAttention:
    """Told of the calls of a step: a product of what a softmax has given, with values for each key."""

    def __init__(self) -> None:
        # by the number of the value: scores, and what a softmax has made weights of
        self._scores: dict[int, _Way] = {}
        self._weights: dict[int, _Way] = {}

    def call(self, call: Call, result: Tensor) -> Attention | None:
        """The attention whose second product that is."""
        if not call.given or result.dim() not in _DIMENSIONS or result.shape[-2] < _FEW:
            return None
        first, scores, weights = call.numbers[0], self._scores, self._weights
        if _PASS.fullmatch(call.name):
            longest = max((scores.get(number, _Way()) for number in call.numbers), key=lambda way: way.passes)
            scores[call.number] = longest.then(call, passes=1)
        elif call.name in _SOFTMAX:
            weights[call.number] = scores.get(first, _Way()).then(call)
        elif call.name == "dropout" and first in weights:
            weights[call.number] = weights[first].then(call, drops=True)
        elif call.name in _PRODUCTS and len(call.given) == 2:
            if first in weights:
                return _attention(call.given[0], call.given[1], weights[first])
            scores[call.number] = _Way().then(call)
        return None


def _attention(weights: Tensor, values: Tensor, way: _Way) -> Attention | None:
    """For `einsum` values may have their dimensions in another order, the width last."""
    width = values.shape[-1]
    fits = values.dim() == weights.dim() and values.numel() == weights[..., 0, :].numel() * width
    on_cpu = all(
        tensor.device.type == "cpu" and tensor.layout == torch.strided for tensor in (weights, values)
    )
    return Attention(weights, width, way) if fits and on_cpu and weights.is_floating_point() else None


def attention_of_module(call: Call) -> Attention | None:
    """That of `nn.MultiheadAttention` where it is asked for its weights, which torch's fused kernel does not
    give: it averages them over the heads, too. ``weights`` has a shape only.
    """
    if call.name != "multi_head_attention_forward":
        return None
    given = inspect.signature(F.multi_head_attention_forward).bind(*call.arguments, **call.options)
    given.apply_defaults()
    asked = given.arguments
    query, heads = asked["query"], asked["num_heads"]
    if query.device.type != "cpu" or query.dim() != 3 or len(query) < _FEW or not asked["need_weights"]:
        return None
    tokens, batch, width = query.shape
    weights = torch.empty(batch, heads, tokens, len(asked["key"]), dtype=query.dtype, device="meta")
    drops = asked["training"] and asked["dropout_p"] > 0
    return Attention(weights, width // heads, _Way(passes=1, drops=drops))


def left_by_fused(attention: Attention, ns: int, *, is_trained: bool) -> float | None:
    """The share of its calls' time, and of their backward's (``is_trained``), that the fused one leaves; None
    where it takes too long to try, or drops weights, which a CPU's cannot. ``ns``: what the script's second
    product took.
    """
    if ns > LONG_NS or attention.way.drops:
        return None
    weights, width, way = attention
    queries, keys = weights.shape[-2:]
    given = [
        torch.ones(*weights.shape[:-2], count, width, dtype=weights.dtype).requires_grad_(is_trained)
        for count in (queries, keys, keys)
    ]
    return share_left((partial(written, way.passes), given), (fused, given), is_trained=is_trained)


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
