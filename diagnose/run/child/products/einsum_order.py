"""`einsum` of three factors and more: without the library opt_einsum torch multiplies them from left to right
(`aten/src/ATen/native/Linear.cpp`), whatever that makes. The order with the fewest multiplications is tried
on what the script's is given.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from ..values import Call
from .product_trial import LONG_NS, share_left

_FACTORS_AT_MOST = 5  # of which all orders are looked at
_WORTH_TRYING = 0.6  # of the multiplications, above which another order hardly saves time

_Value = TypeVar("_Value")
Path = list[tuple[int, int]]  # which two of those left are multiplied; what they make comes last


class Einsum(NamedTuple):
    """``letters``: of each factor; ``path``: the order with the fewest multiplications."""

    letters: list[str]
    result: str
    factors: list[Tensor]
    path: Path


def in_costly_order(call: Call) -> Einsum | None:
    """An `einsum`, on a processor, that another order makes far cheaper."""
    if call.name != "einsum" or not call.arguments or not isinstance(call.arguments[0], str):
        return None
    if not 3 <= len(call.given) <= _FACTORS_AT_MOST or call.given[0].device.type != "cpu":
        return None
    before, arrow, result = call.arguments[0].replace(" ", "").partition("->")
    letters = before.split(",")
    if not arrow or "." in before or len(letters) != len(call.given):
        return None
    if any(len(set(names)) != len(names) for names in letters):
        return None  # a diagonal
    pairs = zip(letters, call.given, strict=True)
    sizes = {name: size for names, factor in pairs for name, size in zip(names, factor.shape, strict=True)}
    from_left = [(0, 1)] + [(0, len(letters) - 1 - made) for made in range(1, len(letters) - 1)]
    count, path = _cheapest(letters, result, sizes)
    if count > _WORTH_TRYING * _count(letters, result, sizes, from_left):
        return None
    return Einsum(letters, result, call.given, path)


def left_in_order(einsum: Einsum, ns: int, *, is_trained: bool) -> float | None:
    """The share of its time, and of its backward's (``is_trained``), that is left in that order; None where
    it takes too long to try. ``ns``: what the script's took.
    """
    if ns > LONG_NS:
        return None
    equation = f"{','.join(einsum.letters)}->{einsum.result}"

    def as_is(*factors: Tensor) -> Tensor:
        return torch.einsum(equation, *factors)

    def in_order(*factors: Tensor) -> Tensor:
        return multiplied(factors, einsum)

    given = einsum.factors
    return share_left((as_is, given), (in_order, given), is_trained=is_trained)


def multiplied(factors: Sequence[Tensor], einsum: Einsum) -> Tensor:
    """The same numbers as `torch.einsum`'s, but for rounding."""
    letters, values = list(einsum.letters), list(factors)
    for pair in einsum.path:
        made = _made(letters, einsum.result, pair)
        names, (first, second) = [letters[at] for at in pair], (values[at] for at in pair)
        product = torch.einsum(f"{','.join(names)}->{made}", first, second)
        letters, values = [*_others(letters, pair), made], [*_others(values, pair), product]
    return values[0]


def _cheapest(letters: Sequence[str], result: str, sizes: Mapping[str, int]) -> tuple[int, Path]:
    """The multiplications, and the order with the fewest."""
    if len(letters) == 2:
        return _product_count(letters, (0, 1), sizes), [(0, 1)]
    found = []
    for pair in itertools.combinations(range(len(letters)), 2):
        left = [*_others(letters, pair), _made(letters, result, pair)]
        count, path = _cheapest(left, result, sizes)
        found.append((count + _product_count(letters, pair, sizes), [pair, *path]))
    return min(found)


def _count(letters: Sequence[str], result: str, sizes: Mapping[str, int], path: Path) -> int:
    count = 0
    for pair in path:
        count += _product_count(letters, pair, sizes)
        letters = [*_others(letters, pair), _made(letters, result, pair)]
    return count


def _product_count(letters: Sequence[str], pair: tuple[int, int], sizes: Mapping[str, int]) -> int:
    return math.prod(sizes[name] for name in set(letters[pair[0]] + letters[pair[1]]))


def _made(letters: Sequence[str], result: str, pair: tuple[int, int]) -> str:
    """What the product of two is: all that another factor or the result has, too; at the end in its order."""
    others = _others(letters, pair)
    if not others:
        return result
    wanted = set("".join(others) + result)
    return "".join(dict.fromkeys(name for at in pair for name in letters[at] if name in wanted))


def _others(values: Sequence[_Value], pair: tuple[int, int]) -> list[_Value]:
    return [value for at, value in enumerate(values) if at not in pair]
