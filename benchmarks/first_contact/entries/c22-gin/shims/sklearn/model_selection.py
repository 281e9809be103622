"""Small stand-in: stratified folds (called once)."""
import numpy as np


class StratifiedKFold:
    def __init__(self, n_splits=5, shuffle=False, random_state=None):
        self.k, self.seed = n_splits, random_state

    def split(self, X, y):
        y = np.asarray(y)
        rng = np.random.default_rng(self.seed)
        fold = np.empty(len(y), int)
        for c in np.unique(y):
            i = rng.permutation(np.where(y == c)[0])
            fold[i] = np.arange(len(i)) % self.k
        for f in range(self.k):
            yield np.where(fold != f)[0], np.where(fold == f)[0]
