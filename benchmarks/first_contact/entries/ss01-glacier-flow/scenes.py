import json
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset

STRIDE = 4


def stretch(image):
    """Contrast stretch between the 2nd and 98th percentile of the scene."""
    image = image.astype(np.float32)
    low, high = np.percentile(image, (2, 98))
    image = np.clip((image - low) / (high - low + 1e-6), 0.0, 1.0)
    return (image * 2.0 - 1.0).astype(np.float32)


class GlacierPairs(Dataset):
    """Crops of co-registered image pairs with the displacement on the stride-4 grid."""

    def __init__(self, root, split, crop=128, crops_per_scene=16):
        self.root = Path(root)
        self.split = split
        self.names = json.loads((self.root / "scenes.json").read_text())[split]
        self.crop = crop
        self.crops_per_scene = crops_per_scene

    def __len__(self):
        return len(self.names) * self.crops_per_scene

    def corner(self, index, height, width):
        if self.split == "train":
            y = np.random.randint(0, (height - self.crop) // STRIDE + 1) * STRIDE
            x = np.random.randint(0, (width - self.crop) // STRIDE + 1) * STRIDE
            return y, x
        side = height // self.crop
        k = index % self.crops_per_scene
        return (k // side) * self.crop, (k % side) * self.crop

    def __getitem__(self, index):
        name = self.names[index // self.crops_per_scene]
        first = stretch(np.load(self.root / f"{name}_t0.npy"))
        second = stretch(np.load(self.root / f"{name}_t1.npy"))
        flow = np.load(self.root / f"{name}_flow.npy").astype(np.float32)

        y, x = self.corner(index, *first.shape)
        first = first[y:y + self.crop, x:x + self.crop]
        second = second[y:y + self.crop, x:x + self.crop]
        gy, gx, g = y // STRIDE, x // STRIDE, self.crop // STRIDE
        flow = flow[:, gy:gy + g, gx:gx + g]

        if self.split == "train" and np.random.rand() < 0.5:
            first, second = first[:, ::-1], second[:, ::-1]
            flow = flow[:, :, ::-1] * np.array([-1.0, 1.0], dtype=np.float32)[:, None, None]

        return (torch.from_numpy(first.copy())[None],
                torch.from_numpy(second.copy())[None],
                torch.from_numpy(flow.copy()))
