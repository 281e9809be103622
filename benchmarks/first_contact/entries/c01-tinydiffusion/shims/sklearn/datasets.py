"""Small stand-in: two half moons."""
import numpy as np


def make_moons(n_samples=100, noise=None, random_state=None):
    rng = np.random.default_rng(random_state)
    a = n_samples // 2
    t0, t1 = np.linspace(0, np.pi, a), np.linspace(0, np.pi, n_samples - a)
    x = np.concatenate([np.stack([np.cos(t0), np.sin(t0)], 1), np.stack([1 - np.cos(t1), 0.5 - np.sin(t1)], 1)])
    y = np.concatenate([np.zeros(a, int), np.ones(n_samples - a, int)])
    p = rng.permutation(n_samples)
    x, y = x[p], y[p]
    if noise:
        x = x + rng.normal(scale=noise, size=x.shape)
    return x, y
