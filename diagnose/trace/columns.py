"""Lists of decoded values to arrays: integers, interned text, pandas columns of the schema's types."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from diagnose.trace.schema import Column

T = TypeVar("T", bound=Hashable)
_DIGITS = re.compile(r"-?\d+")
_INT64_LIMIT = 2**63


class Computed(dict[Any, Any]):
    """A dictionary that works out what it lacks."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def __missing__(self, key: Any) -> Any:
        self[key] = value = self._function(key)
        return value


class Codes(dict[T, int]):
    """Distinct values, numbered in order of first appearance. ``nbytes``: of their texts."""

    nbytes = 0

    def __missing__(self, value: T) -> int:
        self[value] = number = len(self)
        if isinstance(value, (str, bytes)):
            self.nbytes += len(value)
        return number

    def of(self, values: Iterable[T], count: int) -> NDArray[np.int32]:
        """The number of each of so many values."""
        return np.fromiter(map(self.__getitem__, values), dtype=np.int32, count=count)


class Parts:
    """Columns that come in parts."""

    def __init__(self) -> None:
        self._parts: dict[str, list[NDArray[Any]]] = {}
        self.nbytes = 0

    def add(self, **columns: NDArray[Any]) -> None:
        for name, part in columns.items():
            self._parts.setdefault(name, []).append(part)
            self.nbytes += part.nbytes

    def column(self, name: str) -> NDArray[Any]:
        """A whole column; its parts are let go."""
        return np.concatenate(self._parts.pop(name))


def integers(values: Sequence[object]) -> NDArray[np.int64]:
    """Int64 of numbers or text that holds one ("stream 7"); -1 where there is none or it does not fit."""
    if values and values[0] == -1 and values.count(-1) == len(values):
        return np.full(len(values), -1, dtype=np.int64)
    try:
        return np.frombuffer(array("q", values), dtype=np.int64)  # type: ignore[type-var]
    except (TypeError, OverflowError):
        return np.array([_integer(v) for v in values], dtype=np.int64)


def at_rows(rows: NDArray[np.int64], values: NDArray[Any], count: int, elsewhere: int = -1) -> NDArray[Any]:
    """A column of ``count`` values: the given ones at the given rows, another everywhere else."""
    column = np.full(count, elsewhere, dtype=values.dtype)
    column[rows] = values
    return column


def _integer(value: object) -> int:
    if isinstance(value, str):
        match = _DIGITS.search(value)
        value = int(match.group()) if match and len(match.group()) < 20 else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and -_INT64_LIMIT <= value < _INT64_LIMIT else -1


def interned(values: Sequence[T]) -> tuple[NDArray[np.int32], list[T]]:
    """Codes into the list of distinct values, which is in order of first appearance."""
    numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
    return np.fromiter(map(numbers.__getitem__, values), dtype=np.int32, count=len(values)), list(numbers)


def renumbered(codes: NDArray[np.integer], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Codes (below ``count``) numbered anew in order of first appearance,
    and the old number of each new one.
    """
    first = np.full(count, len(codes), dtype=np.int64)
    # of equal codes the one written last is the first of them
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    by_appearance = np.argsort(first, kind="stable")[: int((first < len(codes)).sum())]
    number = np.full(count, -1, dtype=np.int64)
    number[by_appearance] = np.arange(len(by_appearance))
    return number[codes], by_appearance


def categorical(codes: NDArray[np.integer], texts: Sequence[str]) -> pd.Categorical:
    """A categorical of ``texts[codes]``; texts may repeat."""
    to_distinct, distinct = interned(texts)
    return pd.Categorical.from_codes(to_distinct[codes], categories=pd.Index(distinct, dtype=object))


def among(values: pd.Categorical, wanted: Iterable[str]) -> NDArray[np.bool_]:
    """Which of the values are any of these."""
    return np.append(values.categories.isin(list(wanted)), False)[values.codes]


def table(columns: Mapping[str, Column], values: Mapping[str, object]) -> pd.DataFrame:
    """A table with exactly the given columns, in order and in their types."""
    typed = {
        name: values[name] if column.dtype == "category" else np.asarray(values[name], dtype=column.dtype)
        for name, column in columns.items()
    }
    return pd.DataFrame(typed, copy=False)
