"""Two calls one after the other that give the same in the other order, with less work. (A B) C makes a large
product that A (B C) does without, where C is narrow; so does a weight made of two thin ones (LoRA, low rank)
for few rows. A convolution of one point after `interpolate` computes each pixel that was made up. Both orders
are tried on what the script's calls are given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch.nn.functional as F
from torch import Tensor

from ..places import Place
from ..values import Call
from .convolution import Convolution, convolution_of
from .product_trial import LONG_NS, shortest_ns

_PRODUCTS = {"matmul", "__matmul__", "bmm", "mm"}
_AVERAGES = {"nearest", "nearest-exact", "bilinear", "linear", "trilinear", "area"}  # with weights of sum 1
_WORTH_TRYING = 0.6  # of the multiplications, above which the other order hardly saves time
_NUMBERS_AT_LEAST = 2_000  # of what is made in between
_KEPT_AT_MOST = 16

By = tuple[Place, int, int]  # the line, ns, and ns if it is trained
Order = Callable[..., Tensor]


class _Made(NamedTuple):
    """What a call was given, and where it was made."""

    name: str
    given: list[Tensor]
    options: dict[str, Any]
    by: By


class _Orders(NamedTuple):
    """As it is, the other way round, and what both are given. ``way``: the facts' name."""

    way: str
    as_is: Order
    other: Order
    given: list[Tensor]


class InOrder(NamedTuple):
    """Two calls one after the other, of whose time ``left`` remains in the other order."""

    way: str
    calls: tuple[By, By]
    left: float


class CallOrder:
    """Told of each call of a step."""

    def __init__(self) -> None:
        # by the number of the value, until it is read: the last few, which keep what they were given
        self._made: dict[int, _Made] = {}
        self._read: dict[int, InOrder | None] = {}  # by the same, from then on
        self._tried: dict[tuple[Place, Place], float] = {}

    def call(
        self, call: Call, result: Tensor, number: int, by: By | None
    ) -> tuple[list[InOrder], list[InOrder]]:
        """Pairs of calls that another order would serve, and those told before that are none: what they make
        in between is read again.
        """
        found: list[InOrder] = []
        withdrawn: list[InOrder] = []
        for given in dict.fromkeys(call.numbers):
            if given in self._made:
                pair = self._read[given] = self._pair(call, given, self._made.pop(given), result, by)
                found += [pair] if pair is not None else []
            elif (pair := self._read.get(given)) is not None:
                withdrawn.append(pair)
                self._read[given] = None
        may_be_first = _is_product(call) or call.name == "interpolate"
        if by is not None and may_be_first and result.numel() >= _NUMBERS_AT_LEAST:
            self._made[number] = _Made(call.name, call.given, _interpolation(call), by)
            if len(self._made) > _KEPT_AT_MOST:
                del self._made[next(iter(self._made))]
        return found, withdrawn

    def _pair(self, call: Call, given: int, made: _Made, result: Tensor, by: By | None) -> InOrder | None:
        first = made.given
        if by is None or first[0].device.type != "cpu":
            return None
        if made.name == "interpolate":
            orders = _orders_of_pixels(call, first[0], made.options, result)
        else:
            orders = _orders_of_products(call, call.numbers.index(given), *first)
        if orders is None or made.by[1] + by[1] > LONG_NS:
            return None
        lines = made.by[0], by[0]
        if lines not in self._tried:
            ways = (orders.as_is, orders.given), (orders.other, orders.given)
            as_is_ns, other_ns = shortest_ns(*ways, is_trained=result.requires_grad)
            self._tried[lines] = other_ns / max(as_is_ns, 1)
        return InOrder(orders.way, (made.by, by), self._tried[lines])


def _is_product(call: Call) -> bool:
    """Of two matrices, or of as many pairs of them."""
    if call.name not in _PRODUCTS or len(call.given) != 2:
        return False
    left, right = call.given
    return left.dim() == right.dim() >= 2 and left.shape[:-2] == right.shape[:-2]


def _orders_of_products(call: Call, at: int, first: Tensor, second: Tensor) -> _Orders | None:
    """Where a call multiplies the product of these two, its argument number ``at``; None where the other way
    has not far fewer multiplications.
    """
    rows, inner, columns = first.shape[-2], first.shape[-1], second.shape[-1]
    made = rows * inner * columns
    if call.name == "linear" and at == 1 and first.dim() == 2 and call.given[0].dim() > 1:
        other = call.given[0]
        count = other.numel() // max(1, other.shape[-1])
        as_is, instead = made + count * columns * rows, count * columns * inner + count * inner * rows

        def merged(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
            return c @ (a @ b).transpose(0, 1)

        def in_turn(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
            return (c @ b.transpose(0, 1)) @ a.transpose(0, 1)

    elif _is_product(call) and at == 0:
        other = call.given[1]
        count = other.shape[-1]
        as_is, instead = made + rows * columns * count, inner * columns * count + rows * inner * count

        def merged(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
            return (a @ b) @ c

        def in_turn(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
            return a @ (b @ c)

    elif _is_product(call):
        other = call.given[0]
        count = other.shape[-2]
        as_is, instead = made + count * rows * columns, count * rows * inner + count * inner * columns

        def merged(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
            return c @ (a @ b)

        def in_turn(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
            return (c @ a) @ b

    else:
        return None
    return (
        _Orders("order", merged, in_turn, [first, second, other])
        if instead <= _WORTH_TRYING * as_is
        else None
    )


def _interpolation(call: Call) -> dict[str, Any]:
    """The options of `interpolate`, by name; none of another call."""
    if call.name != "interpolate":
        return {}
    names = ("input", "size", "scale_factor", "mode", "align_corners", "recompute_scale_factor", "antialias")
    options = dict(zip(names, call.arguments, strict=False)) | call.options
    options.pop("input", None)
    return options


def _orders_of_pixels(call: Call, picture: Tensor, options: dict[str, Any], result: Tensor) -> _Orders | None:
    """Where a convolution of one point follows an `interpolate` that makes a picture larger, and does not
    make more channels of it.
    """
    convolution = convolution_of(call.name, call.arguments, call.options)
    if (
        convolution is None
        or not _is_of_points(convolution)
        or options.get("mode", "nearest") not in _AVERAGES
    ):
        return None
    larger = result[0, 0].numel() > picture[0, 0].numel()
    if not larger or result.shape[1] > picture.shape[1]:
        return None

    def classified(picture: Tensor, kernel: Tensor, bias: Tensor | None = None) -> Tensor:
        return getattr(F, call.name)(picture, kernel, bias, groups=convolution.groups)

    def as_is(picture: Tensor, *weights: Tensor) -> Tensor:
        return classified(F.interpolate(picture, **options), *weights)

    def other(picture: Tensor, *weights: Tensor) -> Tensor:
        return F.interpolate(classified(picture, *weights), **options)

    weights = [convolution.kernel, *([convolution.bias] if convolution.bias is not None else [])]
    return _Orders("enlarged", as_is, other, [picture, *weights])


def _is_of_points(convolution: Convolution) -> bool:
    one_each = {*convolution.kernel.shape[2:], *convolution.stride} == {1}
    return one_each and set(convolution.padding) <= {0, "valid", "same"}
