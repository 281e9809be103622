"""Products with rows that are there many times: of `torch.cat([state.expand(…), inputs], -1)` a linear layer
computes what depends on the state anew for each row, and what depends on the inputs anew in each round of a
loop in which only the state changes. W·[a; b] is Wa·a + Wb·b: each part can be applied where its rows are
still few.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from torch import Tensor

_PRODUCTS = {"linear", "matmul", "__matmul__", "mm"}  # of a matrix whose rows are meant, and weights
_JOINS = {"cat", "concat", "concatenate"}
_REPEATS = {"repeat", "expand", "expand_as", "repeat_interleave", "tile", "broadcast_to"}
_REPEATS |= {"__getitem__", "index_select"}  # rows of nodes for each edge between them
_SAME = {"view", "reshape", "unsqueeze", "squeeze", "transpose", "permute", "flatten", "contiguous"}
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
        self._parts: dict[int, tuple[_Part, ...]] = {}  # of a value, side by side
        self._copies: dict[
            int, tuple[int, ...]
        ] = {}  # of a value: those that rows were copied for, it included
        self._multiplied: set[tuple[int, int, int]] = set()  # a part's value, the weights', from which column

    def product(self, name: str, given: Sequence[Tensor], numbers: Sequence[int]) -> Product | None:
        """None for another call, where most of it is left, or nothing: the whole product is there already."""
        if name not in _PRODUCTS or len(given) < 2 or given[0].dim() < 2 or given[1].dim() != 2:
            return None
        width, rows = given[0].shape[-1], _rows(given[0])
        if rows < _ROWS_AT_LEAST:
            return None
        left, column = 0.0, 0
        for part in self._parts_of(numbers[0], given[0]):
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
        if not given or result.dim() < 1 or number in self._parts:
            return
        if name in _JOINS and dim in (-1, result.dim() - 1):
            parts = (self._parts_of(one, tensor) for one, tensor in zip(numbers, given, strict=True))
            self._parts[number] = tuple(part for several in parts for part in several)
            self._copies[number] = (number, *(copy for one in numbers for copy in self._copies.get(one, ())))
        elif name not in _JOINS and _width(result) == _width(given[0]):
            if name in _SAME and result.numel() == given[0].numel():
                self._parts[number] = self._parts_of(numbers[0], given[0])
                self._copies[number] = self._copies.get(numbers[0], ())
            elif name in _REPEATS and result.numel() > given[0].numel():
                self._parts[number] = self._parts_of(numbers[0], given[0])
                self._copies[number] = (number, *self._copies.get(numbers[0], ()))

    def _parts_of(self, number: int, tensor: Tensor) -> tuple[_Part, ...]:
        known = self._parts.get(number)
        return known if known is not None else (_Part(number, _rows(tensor), _width(tensor)),)


def _width(tensor: Tensor) -> int:
    return tensor.shape[-1] if tensor.dim() else 1


def _rows(tensor: Tensor) -> int:
    return tensor.numel() // max(1, _width(tensor))
