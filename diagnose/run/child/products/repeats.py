"""Products with rows that are there many times: of `torch.cat([state.expand(…), inputs], -1)` a linear layer
computes what depends on the state anew for each row, and what depends on the inputs anew in each round of a
loop in which only the state changes. W·[a; b] is Wa·a + Wb·b, and W·(a - b) is W·a - W·b: each part can be
applied where its rows are still few. A convolution of one point is such a layer, too: its columns are the
channels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

_PRODUCTS = {"linear", "matmul", "__matmul__", "mm"}  # of a matrix whose rows are meant, and weights
_CONVOLUTIONS = {"conv1d": 3, "conv2d": 4, "conv3d": 5}  # dimensions of their weights
JOINS = {"cat", "concat", "concatenate"}
_REPEATS = {"repeat", "expand", "expand_as", "repeat_interleave", "tile", "broadcast_to"}
_REPEATS |= {"__getitem__", "index_select", "embedding"}  # rows of nodes for each edge between them
_SAME = {"view", "reshape", "unsqueeze", "squeeze", "transpose", "permute", "flatten", "contiguous"}
_SUMS = {"add", "sub", "subtract", "__add__", "__sub__", "__radd__", "__rsub__"}
_ROWS_AT_LEAST = 8
# of a product's time, above which splitting it is not worth it: adding the parts takes time, too
_LEFT_AT_MOST = 0.75


class _Part(NamedTuple):
    """Columns of a tensor: ``number`` of the value that its rows are taken from, which has ``rows``."""

    number: int
    rows: int
    width: int


class Product(NamedTuple):
    """``left``: the share of its time that is left if no row is multiplied twice; ``copies``: numbers of the
    values that were only made for it, by copying rows, and ``copies_left`` of their time: adding the parts of
    the result instead.
    """

    left: float
    copies: tuple[int, ...]
    copies_left: float


class RepeatedRows:
    """Told of each call of a step, with the numbers of the values that it is given and gives."""

    def __init__(self) -> None:
        # of a value's columns, which are in that dimension, side by side
        self._parts: dict[tuple[int, int], tuple[_Part, ...]] = {}
        self._copies: dict[
            int, tuple[int, ...]
        ] = {}  # of a value: those that rows were copied for, it included
        self._multiplied: set[tuple[int, int, int]] = set()  # a part's value, the weights', from which column

    def product(self, name: str, given: Sequence[Tensor], numbers: Sequence[int]) -> Product | None:
        """None for another call, where most of it is left, or nothing: the whole product is there already."""
        columns = _columns_multiplied(name, given)
        if columns is None:
            return None
        width, rows = given[0].shape[columns], _rows(given[0], columns)
        if rows < _ROWS_AT_LEAST:
            return None
        left, column = 0.0, 0
        for part in self._parts_of(numbers[0], given[0], columns):
            key = (part.number, numbers[1], column)
            if key not in self._multiplied:
                left += part.width / width * min(1.0, part.rows / rows)
            self._multiplied.add(key)
            column += part.width
        if not 0 < left <= _LEFT_AT_MOST:
            return None
        copies_left = given[1].numel() / width / width  # numbers of the result for each that is copied
        copies = self._copies.pop(numbers[0], ()) if copies_left < 1 else ()
        return Product(left, copies, copies_left)

    def made(
        self,
        name: str,
        given: Sequence[Tensor],
        numbers: Sequence[int],
        result: Tensor,
        number: int,
        dim: Any,
    ) -> None:
        """A call has given this; ``dim``: of a `cat` the dimension that grows."""
        if name == "embedding":  # of numbers and a table: rows of the table
            given, numbers = given[1:], numbers[1:]
        if not given or result.dim() < 1 or (number, result.dim() - 1) in self._parts:
            return
        if name in JOINS and isinstance(dim, int):
            self._join(given, numbers, number, dim % result.dim())
        elif name in _SAME and result.numel() == given[0].numel():
            for columns, then in _moved(name, given[0], result):
                self._parts[number, then] = self._parts_of(numbers[0], given[0], columns)
            self._copies[number] = self._copies.get(numbers[0], ())
        elif name in _REPEATS and result.numel() > given[0].numel():
            for columns, then in _kept(given[0], result):
                self._parts[number, then] = self._parts_of(numbers[0], given[0], columns)
            self._copies[number] = (number, *self._copies.get(numbers[0], ()))
        elif name in _SUMS and len(given) == 2:
            self._add(given, numbers, result, number)

    def _join(self, given: Sequence[Tensor], numbers: Sequence[int], number: int, columns: int) -> None:
        parts = (
            self._parts_of(one, tensor, columns)
            for one, tensor in zip(numbers, given, strict=True)
            if tensor.dim() > columns  # torch joins an empty one of fewer dimensions, too
        )
        self._parts[number, columns] = tuple(part for several in parts for part in several)
        self._copied(numbers, number)

    def _add(self, given: Sequence[Tensor], numbers: Sequence[int], result: Tensor, number: int) -> None:
        """The sum of two values with fewer rows each: both can be multiplied before."""
        if any(tensor.dim() != result.dim() for tensor in given):
            return
        for columns in range(result.dim()):
            if any(tensor.shape[columns] != result.shape[columns] for tensor in given):
                continue
            left, right = (
                self._parts_of(one, tensor, columns) for one, tensor in zip(numbers, given, strict=True)
            )
            fits = [part.width for part in left] == [part.width for part in right]
            together = [one.rows + other.rows for one, other in zip(left, right, strict=False)]
            if fits and max(together) < _rows(result, columns):
                self._parts[number, columns] = tuple(
                    _Part(number, rows, part.width) for part, rows in zip(left, together, strict=True)
                )
                self._copied(numbers, number)

    def _copied(self, numbers: Sequence[int], number: int) -> None:
        self._copies[number] = (number, *(copy for one in numbers for copy in self._copies.get(one, ())))

    def _parts_of(self, number: int, tensor: Tensor, columns: int) -> tuple[_Part, ...]:
        known = self._parts.get((number, columns))
        if known is not None:
            return known
        width = tensor.shape[columns] if tensor.dim() else 1
        return (_Part(number, tensor.numel() // max(1, width), width),)


def _columns_multiplied(name: str, given: Sequence[Tensor]) -> int | None:
    """The dimension that the weights sum over; None for another call."""
    if len(given) < 2 or given[0].dim() < 2:
        return None
    inputs, weights = given[0], given[1]
    if name in _PRODUCTS and weights.dim() == 2:
        return inputs.dim() - 1
    of_points = _CONVOLUTIONS.get(name) == weights.dim() == inputs.dim() and set(weights.shape[2:]) == {1}
    return 1 if of_points and weights.shape[1] == inputs.shape[1] else None


def _moved(name: str, given: Tensor, result: Tensor) -> Iterator[tuple[int, int]]:
    """Dimensions before and after a call that leaves the numbers what they are."""
    if {given.layout, result.layout} != {torch.strided}:
        return  # how they lie in memory tells which is which
    if result.shape == given.shape and (name == "contiguous" or result.stride() == given.stride()):
        yield from ((dim, dim) for dim in range(given.dim()))
    elif result.dim() == given.dim() and sorted(result.shape) == sorted(given.shape):
        for dim in range(given.dim()):
            alike = [
                then
                for then in range(result.dim())
                if result.shape[then] == given.shape[dim] and result.stride(then) == given.stride(dim)
            ]
            if len(alike) == 1:
                yield dim, alike[0]
    elif given.dim() and result.shape[-1] == given.shape[-1]:
        yield given.dim() - 1, result.dim() - 1


def _kept(given: Tensor, result: Tensor) -> Iterator[tuple[int, int]]:
    """Dimensions before and after a call that repeats others."""
    if result.dim() == given.dim():
        yield from ((dim, dim) for dim in range(given.dim()) if 1 < result.shape[dim] == given.shape[dim])
    elif given.dim() and result.shape[-1] == given.shape[-1]:
        yield given.dim() - 1, result.dim() - 1


def _rows(tensor: Tensor, columns: int) -> int:
    return tensor.numel() // max(1, tensor.shape[columns])
