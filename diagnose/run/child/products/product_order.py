"""Three matrices multiplied in the costlier order: (A B) C makes a large product that A (B C) does without,
where C is narrow; a weight that is made of two thin ones (B A of LoRA, factors of low rank) for few rows is
such a product, too. Both orders are tried on what the script's are given.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor

from ..places import Place
from ..values import Call
from .product_trial import LONG_NS, shortest_ns

_PRODUCTS = {"matmul", "__matmul__", "bmm", "mm"}
_WORTH_TRYING = 0.6  # of the multiplications, above which the other order hardly saves time
_NUMBERS_AT_LEAST = 2_000  # of the product that is made in between

By = tuple[Place, int, int]  # the line, ns, and ns if it is trained


class _Made(NamedTuple):
    """A product of ``left`` and ``right``, and which call made it."""

    left: weakref.ref[Tensor]
    right: weakref.ref[Tensor]
    by: By


class InOrder(NamedTuple):
    """Two products one after the other, of whose time ``left`` remains in the other order."""

    calls: tuple[By, By]
    left: float


class ProductOrder:
    """Told of each call of a step."""

    def __init__(self) -> None:
        self._made: dict[int, _Made] = {}  # by the number of the value
        self._read: dict[int, InOrder | None] = {}  # by the same, once it was read
        self._tried: dict[tuple[Place, Place], float | None] = {}

    def call(
        self, call: Call, result: Tensor, number: int, by: By | None
    ) -> tuple[list[InOrder], list[InOrder]]:
        """Pairs of products that another order would serve, and those told before that are none: what they
        make in between is read again.
        """
        found, withdrawn = [], []
        for factor in dict.fromkeys(call.numbers):
            made = self._made.get(factor)
            if made is None:
                continue
            if factor in self._read:
                earlier, self._read[factor] = self._read[factor], None
                withdrawn += [earlier] if earlier is not None else []
                continue
            pair = self._pair(call, factor, made, result, by) if by is not None else None
            self._read[factor] = pair
            found += [pair] if pair is not None else []
        if by is not None and _is_product(call) and result.numel() >= _NUMBERS_AT_LEAST:
            left, right = (weakref.ref(tensor) for tensor in call.given[:2])
            self._made[number] = _Made(left, right, by)
        return found, withdrawn

    def _pair(self, call: Call, factor: int, made: _Made, result: Tensor, by: By) -> InOrder | None:
        first, second = made.left(), made.right()
        if first is None or second is None or first.device.type != "cpu":
            return None
        orders = _orders(call, call.numbers.index(factor), first, second)
        if orders is None or made.by[1] + by[1] > LONG_NS:
            return None
        lines = made.by[0], by[0]
        if lines not in self._tried:
            as_is, other, given = orders
            as_is_ns, other_ns = shortest_ns((as_is, given), (other, given), is_trained=result.requires_grad)
            self._tried[lines] = other_ns / max(as_is_ns, 1)
        left = self._tried[lines]
        return None if left is None else InOrder((made.by, by), left)


Order = Callable[..., Tensor]


def _is_product(call: Call) -> bool:
    """Of two matrices, or of as many pairs of them."""
    if call.name not in _PRODUCTS or len(call.given) != 2:
        return False
    left, right = call.given
    return left.dim() == right.dim() >= 2 and left.shape[:-2] == right.shape[:-2]


def _orders(call: Call, at: int, first: Tensor, second: Tensor) -> tuple[Order, Order, list[Tensor]] | None:
    """As it is, the other way, and what both are given, where a call multiplies the product of these two, its
    argument number ``at``; None where the other way has not far fewer multiplications.
    """
    rows, inner, columns = first.shape[-2], first.shape[-1], second.shape[-1]
    if call.name == "linear" and at == 1 and len(call.given) >= 2:
        other = call.given[0]
        if first.dim() != 2 or other.dim() < 2:
            return None
        count = other.numel() // max(1, other.shape[-1])
        as_is = rows * inner * columns + count * columns * rows
        instead = count * columns * inner + count * inner * rows

        def merged(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
            return c @ (a @ b).transpose(0, 1)

        def in_turn(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
            return (c @ b.transpose(0, 1)) @ a.transpose(0, 1)

    elif _is_product(call):
        other = call.given[1 - at]
        if at == 0:
            count = other.shape[-1]
            as_is = rows * inner * columns + rows * columns * count
            instead = inner * columns * count + rows * inner * count
        else:
            count = other.shape[-2]
            as_is = rows * inner * columns + count * rows * columns
            instead = count * rows * inner + count * inner * columns

        def merged(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
            return (a @ b) @ c if at == 0 else c @ (a @ b)

        def in_turn(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
            return a @ (b @ c) if at == 0 else (c @ a) @ b

    else:
        return None
    return (merged, in_turn, [first, second, other]) if instead <= _WORTH_TRYING * as_is else None
