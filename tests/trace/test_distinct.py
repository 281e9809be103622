"""Numbers sorted, each once, as `numpy.unique` and `numpy.union1d` would have them."""

import numpy as np

from diagnose.trace.distinct import distinct


def test_each_once_and_sorted():
    assert distinct([3, 1, 3]).tolist() == [1, 3]


def test_of_several():
    assert distinct(np.array([5, 2]), np.array([[2, 7], [0, 5]])).tolist() == [0, 2, 5, 7]


def test_none():
    none = np.zeros(0, np.int64)

    assert distinct(none).tolist() == []
    assert distinct(none, none).dtype == np.int64
