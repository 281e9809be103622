"""What is the same: numbers each once, and rows with the same values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray


def distinct(*numbers: ArrayLike) -> NDArray[Any]:
    """All these numbers, sorted, each once: `numpy.unique` and `numpy.union1d` by sorting.

    Since numpy 2.3 those go by hashing, which takes far longer where rows are in order, as they mostly are
    here, or nearly all distinct.
    """
    found = np.sort(np.concatenate([np.asarray(array).reshape(-1) for array in numbers]), kind="stable")
    return found[np.append(True, found[1:] != found[:-1])[: len(found)]]


def codes_of(values: pd.Series) -> NDArray[Any]:
    """Whole numbers that stand for the values: those of a categorical, or the numbers themselves."""
    array = values.array
    return array.codes if isinstance(array, pd.Categorical) else np.asarray(array)


def alike(*columns: NDArray[Any]) -> NDArray[np.int64]:
    """A number for each row, from 0 on in order of appearance, the same for rows with the same values: whole
    numbers from -1 to 2³¹. Of few rows `groupby` takes ten times as long.
    """
    number = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        number = pd.factorize(number * (int(column.max(initial=0)) + 2) + column + 1)[0]
    return number


def first_of(number: NDArray[np.int64]) -> NDArray[np.int64]:
    """Of each number that `alike` gives its first row."""
    first = np.zeros(int(number.max(initial=-1)) + 1, np.int64)
    first[number[::-1]] = np.arange(len(number) - 1, -1, -1)
    return first
