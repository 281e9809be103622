"""linear_sum_assignment for the handful of speakers of a call, by trying all assignments."""
from itertools import permutations

import numpy as np


def linear_sum_assignment(cost):
    cost = np.asarray(cost)
    rows, cols = cost.shape
    if rows > cols:
        col, row = linear_sum_assignment(cost.T)
        order = np.argsort(row)
        return row[order], col[order]
    best = min(permutations(range(cols), rows), key=lambda p: cost[np.arange(rows), list(p)].sum())
    return np.arange(rows), np.array(best)
