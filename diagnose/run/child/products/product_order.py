"""Products of three matrices in the other order, and matrices that are scaled before they are multiplied.

(A B) C makes a large product that A (B C) does without, where C is narrow; so does a weight made of two thin
ones (LoRA, low rank) for few rows, and a layer that is applied to a whole table before a few rows are
multiplied by it. A diagonal times a weight, (s · W) C, is a matrix for each sample, where s · (W C) is one
product for all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor

from ..values import Call

_PRODUCTS = {"matmul", "__matmul__", "bmm", "mm"}
SCALES = {"mul", "__mul__", "__rmul__", "multiply"}
_TURNS = {"t", "transpose", "permute", "swapaxes", "swapdims", "adjoint", "__get__"}
_WORTH_TRYING = 0.6  # of the multiplications, above which the other order hardly saves time

Way = Callable[..., Tensor]


class Orders(NamedTuple):
    """As it is, the other way, and what both are given."""

    as_is: Way
    other: Way
    given: list[Tensor]


def may_be_first(call: Call) -> bool:
    """Whether another order may serve a product that reads its result, or its transpose."""
    return is_product(call) or is_layer(call) or _scale_at(call) is not None


def is_any_product(call: Call) -> bool:
    """Of two matrices, or of several, also with one for all."""
    if call.name not in _PRODUCTS or len(call.given) != 2:
        return False
    return all(given.dim() >= 2 for given in call.given)


def is_product(call: Call) -> bool:
    """Of two matrices, or of as many pairs of them."""
    if not is_any_product(call):
        return False
    left, right = call.given
    return left.dim() == right.dim() and left.shape[:-2] == right.shape[:-2]


def is_turn(call: Call, given: Tensor, result: Tensor) -> bool:
    """Whether the call gives the transpose of matrices."""
    if call.name not in _TURNS or given.dim() < 2 or result.dim() != given.dim() or result._base is None:
        return False
    turned = given.transpose(-1, -2)
    return (turned.shape, turned.stride()) == (result.shape, result.stride())


def orders_of(first: Call, second: Call, at: int, *, turned: bool) -> Orders | None:
    """Of two calls, the second of which is given as its tensor number ``at`` what the first makes, or its
    transpose (``turned``).
    """
    if second.name == "linear" and at == 1:
        turned = not turned
    elif second.name not in _PRODUCTS or len(second.given) != 2:
        return None
    other = second.given[1 - at]
    if other.dim() < 2:
        return None
    scale_at = _scale_at(first)
    if scale_at is not None:
        scale, matrix = first.given[scale_at], first.given[1 - scale_at]
        return _of_scaled(scale, matrix, other, at, turned=turned)
    if not (is_product(first) or is_layer(first)) or not (second.name == "linear" or is_product(second)):
        return None
    return _of_three(first, other, at, turned=turned)


def is_layer(call: Call) -> bool:
    """Without a bias."""
    return call.name == "linear" and len(call.given) == 2 and call.given[1].dim() == 2


def _of_three(made: Call, other: Tensor, at: int, *, turned: bool) -> Orders | None:
    """None where the other order has not far fewer multiplications."""
    turns_weight = is_layer(made)

    def factors(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        b = b.transpose(-1, -2) if turns_weight else b
        return (b.transpose(-1, -2), a.transpose(-1, -2)) if turned else (a, b)

    def as_is(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        left, right = factors(a, b)
        return (left @ right) @ c if at == 0 else c @ (left @ right)

    def in_turn(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        left, right = factors(a, b)
        return left @ (right @ c) if at == 0 else (c @ left) @ right

    left, right = factors(*made.given)
    rows, inner, columns = left.shape[-2], left.shape[-1], right.shape[-1]
    if at == 0:
        count = other.shape[-1]
    else:  # a product of matrices has as many of each; a layer has one weight for all rows
        count = other.shape[-2] if other.dim() == left.dim() else math.prod(other.shape[:-1])
    if inner * count * (rows + columns) > _WORTH_TRYING * rows * columns * (inner + count):
        return None
    return Orders(as_is, in_turn, [*made.given, other])


def _of_scaled(scale: Tensor, matrix: Tensor, other: Tensor, at: int, *, turned: bool) -> Orders:
    by_row = (scale.shape[-1] == 1) != turned

    def factors(scale: Tensor, matrix: Tensor) -> tuple[Tensor, Tensor]:
        return (scale.transpose(-1, -2), matrix.transpose(-1, -2)) if turned else (scale, matrix)

    def as_is(scale: Tensor, matrix: Tensor, c: Tensor) -> Tensor:
        scale, matrix = factors(scale, matrix)
        return (scale * matrix) @ c if at == 0 else c @ (scale * matrix)

    def scaled_after(scale: Tensor, matrix: Tensor, c: Tensor) -> Tensor:
        scale, matrix = factors(scale, matrix)
        if by_row:
            return scale * (matrix @ c) if at == 0 else (c * scale.transpose(-1, -2)) @ matrix
        return matrix @ (scale.transpose(-1, -2) * c) if at == 0 else (c @ matrix) * scale

    return Orders(as_is, scaled_after, [scale, matrix, other])


def _scale_at(call: Call) -> int | None:
    """Which of the two that are multiplied has, for each of several samples, a number of its own for each row
    of one matrix, or for each column.
    """
    if call.name not in SCALES or len(call.given) != 2:
        return None
    return next((at for at in (0, 1) if _scales(call.given[at], call.given[1 - at])), None)


def _scales(scale: Tensor, matrix: Tensor) -> bool:
    if matrix.dim() < 2 or scale.dim() < 3 or min(matrix.shape[-2:]) < 2:
        return False
    rows, columns = matrix.shape[-2:]
    is_one_matrix = math.prod(matrix.shape[:-2]) == 1 < math.prod(scale.shape[:-2])
    return is_one_matrix and tuple(scale.shape[-2:]) in {(rows, 1), (1, columns)}
