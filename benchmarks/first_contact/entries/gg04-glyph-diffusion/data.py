import numpy as np
import torch
from torch.utils.data import Dataset


def draw_glyphs(count, size, seed):
    """Strokes between random control points, drawn with a soft pen; ten families of shapes."""
    rng = np.random.default_rng(seed)
    label = rng.integers(10, size=count)
    base = np.random.default_rng(99).uniform(0.2, 0.8, size=(10, 4, 2))
    points = base[label] + 0.06 * rng.standard_normal((count, 4, 2))
    t = np.linspace(0, 1, 24)[:, None]
    bezier = np.concatenate([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t ** 2 * (1 - t), t ** 3], 1)
    curve = np.einsum("sk,nkd->nsd", bezier, points)
    grid = (np.arange(size) + 0.5) / size
    dx = (curve[:, :, 0, None] - grid) ** 2
    dy = (curve[:, :, 1, None] - grid) ** 2
    pen = np.exp(-dx / 0.0018).transpose(0, 2, 1) @ np.exp(-dy / 0.0018)
    return np.minimum(pen, 1.0).astype(np.float32), label


class Glyphs(Dataset):
    """Glyph images in [-1, 1] with labels; batches are fetched with one index."""

    def __init__(self, count, size=32, seed=0):
        images, labels = draw_glyphs(count, size, seed)
        self.images = torch.from_numpy(images).unsqueeze(1).mul_(2).sub_(1)
        self.labels = torch.from_numpy(labels)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return self.images[index], self.labels[index]

    def __getitems__(self, indices):
        indices = torch.tensor(indices)
        return self.images[indices], self.labels[indices]
