import numpy as np
import torch


def make_glyphs(n, size=16, classes=8, seed=0):
    """strokes joined at class-specific corners, jittered, blurred; returns (n, 1, size, size) in [-1, 1] and labels"""
    rng = np.random.default_rng(seed)
    corners = np.random.default_rng(99).uniform(3, size - 4, (classes, 4, 2))
    labels = rng.integers(0, classes, n)
    pts = corners[labels] + rng.normal(0, 0.8, (n, 4, 2))
    images = np.zeros((n, size, size), dtype=np.float32)
    rows = np.arange(n)
    for k in range(3):
        for s in np.linspace(0, 1, 24):
            p = np.rint(pts[:, k] * (1 - s) + pts[:, k + 1] * s).astype(int).clip(1, size - 2)
            images[rows, p[:, 0], p[:, 1]] = 1.0
    blur = images.copy()
    for axis in (1, 2):
        blur = 0.25 * np.roll(blur, 1, axis) + 0.5 * blur + 0.25 * np.roll(blur, -1, axis)
    blur /= blur.max(axis=(1, 2), keepdims=True)
    return torch.from_numpy(blur * 2 - 1)[:, None], torch.from_numpy(labels)
