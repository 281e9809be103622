import numpy as np
import torch
from torch.utils.data import Dataset

CLASSES = ("box", "disc", "cross")
MAX_OBJECTS = 64


def draw(image, kind, cx, cy, w, h, colour):
    x0, y0 = int(cx - w / 2), int(cy - h / 2)
    yy, xx = np.mgrid[:int(h), :int(w)]
    u, v = (xx + 0.5) / w - 0.5, (yy + 0.5) / h - 0.5
    if kind == 0:
        mask = np.ones_like(u, dtype=bool)
    elif kind == 1:
        mask = u * u + v * v < 0.25
    else:
        mask = (np.abs(u) < 0.15) | (np.abs(v) < 0.15)
    image[:, y0:y0 + int(h), x0:x0 + int(w)][:, mask] = colour[:, None]


class ShapeScenes(Dataset):
    """n scenes with 1-6 shapes; targets are padded to MAX_OBJECTS rows (x1, y1, x2, y2, class), class -1 = nothing"""

    def __init__(self, n, size=96, seed=0):
        rng = np.random.default_rng(seed)
        self.images = np.empty((n, 3, size, size), dtype=np.uint8)
        self.targets = np.zeros((n, MAX_OBJECTS, 5), dtype=np.float32)
        self.targets[:, :, 4] = -1
        for i in range(n):
            base = rng.integers(40, 120, (3, 6, 6)).repeat(size // 6, 1).repeat(size // 6, 2)
            image = base + rng.integers(-15, 16, (3, size, size))
            for k in range(int(rng.integers(1, 7))):
                kind = int(rng.integers(3))
                w, h = rng.integers(10, 40, 2)
                cx, cy = rng.uniform(w / 2, size - w / 2), rng.uniform(h / 2, size - h / 2)
                draw(image, kind, cx, cy, w, h, rng.integers(0, 256, 3))
                x0, y0 = int(cx - w / 2), int(cy - h / 2)
                self.targets[i, k] = (x0, y0, x0 + w, y0 + h, kind)
            self.images[i] = image.clip(0, 255)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = torch.from_numpy(self.images[i]).float().div_(255)
        target = torch.from_numpy(self.targets[i])
        if torch.rand(()) < 0.5:
            image = image.flip(-1)
            target = target.clone()
            real = target[:, 4] >= 0
            target[real, 0], target[real, 2] = image.shape[-1] - target[real, 2], image.shape[-1] - target[real, 0]
        return image, target
