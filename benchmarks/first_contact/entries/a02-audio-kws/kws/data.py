import numpy as np
import torch
from torch.utils.data import TensorDataset


def synth_keywords(n, n_classes, seconds=1.0, sr=8000, seed=0):
    """Chirps: every keyword is a start/end frequency, plus noise."""
    rng = np.random.default_rng(seed)
    t = np.arange(int(sr * seconds), dtype=np.float32) / sr
    y = rng.integers(0, n_classes, n)
    f0 = 200 + 150 * y + rng.normal(0, 20, n)
    slope = np.where(y % 2 == 0, 600, -100)
    phase = 2 * np.pi * (f0[:, None].astype(np.float32) * t + 0.5 * slope[:, None].astype(np.float32) * t * t)
    x = np.sin(phase) + 0.3 * rng.standard_normal((n, len(t)), dtype=np.float32)
    return TensorDataset(torch.from_numpy(x.astype(np.float32)), torch.from_numpy(y))
