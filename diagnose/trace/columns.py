"""Lists of decoded values to arrays: integers, interned text, pandas columns of the schema's types."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from diagnose.trace.schema import Column

T = TypeVar("T", bound=Hashable)
_DIGITS = re.compile(r"-?\d+")
_INT64_LIMIT = 2**63


def integers(values: Sequence[object]) -> NDArray[np.int64]:
    """Int64 of numbers or text that holds one ("stream 7"); -1 where there is none or it does not fit."""
    try:
        return np.array([v if type(v) is int else -1 if v is None else _integer(v) for v in values], dtype=np.int64)
    except OverflowError:
        return np.array([_integer(v) for v in values], dtype=np.int64)


def at_rows(rows: NDArray[np.int64], values: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """A column of ``count`` values: the given ones at the given rows, -1 elsewhere."""
    column = np.full(count, -1, dtype=np.int64)
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


def categorical(codes: NDArray[np.integer], texts: Sequence[str]) -> pd.Categorical:
    """A categorical of ``texts[codes]``; texts may repeat."""
    to_distinct, distinct = interned(texts)
    return pd.Categorical.from_codes(to_distinct[codes], categories=pd.Index(distinct, dtype=object))


def table(columns: Mapping[str, Column], values: Mapping[str, object]) -> pd.DataFrame:
    """A table with exactly the given columns, in order and in their types."""
    typed = {
        name: values[name] if column.dtype == "category" else np.asarray(values[name], dtype=column.dtype)
        for name, column in columns.items()
    }
    return pd.DataFrame(typed, copy=False)
