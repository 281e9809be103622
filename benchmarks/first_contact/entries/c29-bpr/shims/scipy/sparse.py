"""Small stand-in: a dictionary-of-keys matrix with the two operations used (item assignment, membership)."""


class dok_matrix:
    def __init__(self, shape, dtype=None):
        self.shape, self._d = shape, {}

    def __setitem__(self, key, v):
        self._d[key] = v

    def __getitem__(self, key):
        return self._d.get(key, 0)

    def __contains__(self, key):
        i, j = key
        if not (0 <= i < self.shape[0] and 0 <= j < self.shape[1]):
            raise IndexError("index out of bounds")
        return (int(i), int(j)) in self._d
