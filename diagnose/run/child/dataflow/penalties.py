"""Penalties on weights that are written into a loss: sums of squares of parameters, which the optimizer's
weight decay puts into the gradients by itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor, nn

from ..places import Place

_SHAPES = {"view", "reshape", "flatten", "ravel", "cat", "concat", "concatenate", "hstack"}
_PRODUCTS = {"mul", "__mul__", "__rmul__", "multiply"}
_SCALES = _PRODUCTS | {"div", "__truediv__", "true_divide", "divide"}
_POWERS = {"pow", "__pow__", "float_power"}
_NORMS = {"norm", "linalg_norm", "linalg_vector_norm", "linalg_matrix_norm"}
_INNER = {"dot", "vdot", "inner"}
_ADDS = {"add", "__add__", "__radd__", "stack", "sum"} | _SCALES
_SECOND = (2, "fro")  # norms whose square is a sum of squares


class Made(NamedTuple):
    """A call."""

    place: Place
    ns: int
    trained_ns: int


class Penalties:
    """What values are to a penalty, by their number: weights in another shape, their squares and norms, and
    the sums of these. What is only the norm of weights, not squared, is no penalty that a decay replaces.
    """

    def __init__(self) -> None:
        self._weights: set[int] = set()
        self._squares: set[int] = set()
        self._norms: set[int] = set()
        self._sums: set[int] = set()
        # calls on the way to a sum, by the value that they made; they count where it is summed up
        self._waiting: dict[int, list[Made]] = {}

    def call(
        self, name: str, arguments: Any, options: Any, given: list[Tensor], numbers: list[int], result: Tensor
    ) -> set[int] | None:
        """Which values the result of a call belongs to; None where it has nothing to do with a penalty."""
        if not given or not result.requires_grad:
            return None
        pairs = list(zip(numbers, given, strict=True))
        if all(number in self._weights or _is_weight(tensor) for number, tensor in pairs):
            return self._of_weights(name, arguments, options, numbers, result)
        if len(given) == 1 and numbers[0] in self._squares:
            if name in _SCALES:
                return self._squares
            return self._sums if name == "sum" and result.dim() == 0 else None
        if len(given) == 1 and numbers[0] in self._norms:
            return self._sums if _squares(name, arguments, numbers) else None
        if len(given) == 2 and numbers[0] == numbers[1] and numbers[0] in self._norms:
            return self._sums if name in _PRODUCTS else None
        is_alone = all(number in self._sums or _is_start(tensor) for number, tensor in pairs)
        is_sum = is_alone and any(number in self._sums for number in numbers)
        return self._sums if is_sum and name in _ADDS else None

    def _of_weights(
        self, name: str, arguments: Any, options: Any, numbers: list[int], result: Tensor
    ) -> set[int] | None:
        if name in _SHAPES:
            return self._weights
        if _squares(name, arguments, numbers):
            return self._squares
        if result.dim():
            return None
        if name in _NORMS:
            order = options.get("p", options.get("ord", (*arguments[1:2], 2)[0]))
            return self._norms if order is None or order in _SECOND else None
        return self._sums if name in _INNER and len(set(numbers)) == 1 else None

    def made(self, belongs: set[int], number: int, numbers: list[int], call: Made | None) -> list[Made]:
        """The calls that are known now to be of a penalty.

        ``belongs``: what `call` has said of the result, whose ``number`` it is; ``call``: None where it is
        free, as a view is.
        """
        belongs.add(number)
        calls = [made for given in dict.fromkeys(numbers) for made in self._waiting.pop(given, [])]
        if call is not None:
            calls.append(call)
        if belongs is self._sums:
            return calls
        self._waiting[number] = calls
        return []


def _is_weight(tensor: Tensor) -> bool:
    return isinstance(tensor, nn.Parameter) and tensor.is_leaf


def _is_start(tensor: Tensor) -> bool:
    """What a sum begins with, or a factor."""
    return tensor.numel() == 1 and tensor.is_leaf


def _squares(name: str, arguments: Any, numbers: list[int]) -> bool:
    if name == "square":
        return True
    if name in _POWERS:
        return len(arguments) > 1 and not isinstance(arguments[1], Tensor) and arguments[1] == 2
    return name in _PRODUCTS and len(numbers) == 2 and numbers[0] == numbers[1]
