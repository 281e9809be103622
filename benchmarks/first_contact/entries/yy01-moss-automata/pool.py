import numpy as np
import torch


def make_seed(size, channels, n=1):
    x = torch.zeros(n, channels, size, size)
    x[:, 3:, size // 2, size // 2] = 1.0
    return x


def circle_mask(size, rng):
    """1 outside of a random circle, 0 inside."""
    cx, cy = rng.uniform(size * 0.3, size * 0.7, size=2)
    r = rng.uniform(size * 0.1, size * 0.25)
    mask = np.ones((size, size), dtype=np.float32)
    for i in range(size):
        for j in range(size):
            if (i - cy) ** 2 + (j - cx) ** 2 < r * r:
                mask[i, j] = 0.0
    return torch.from_numpy(mask)


class SamplePool:
    def __init__(self, size, channels, capacity, seed=0):
        self.rng = np.random.default_rng(seed)
        self.size = size
        self.channels = channels
        self.states = make_seed(size, channels, capacity)

    def draw(self, n):
        idx = torch.from_numpy(self.rng.choice(len(self.states), n, replace=False))
        return idx, self.states[idx]

    def put(self, idx, states):
        self.states[idx] = states
