"""Numbers sorted, each once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def distinct(*numbers: ArrayLike) -> NDArray[Any]:
    """All these numbers, sorted, each once: `numpy.unique` and `numpy.union1d` by sorting.

    Since numpy 2.3 those go by hashing, which takes far longer where rows are in order, as they mostly are
    here, or nearly all distinct.
    """
    found = np.sort(np.concatenate([np.asarray(array).reshape(-1) for array in numbers]), kind="stable")
    return found[np.append(True, found[1:] != found[:-1])[: len(found)]]
