import os

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset

from density import density_map

MEAN = np.array([0.485, 0.456, 0.406], dtype=np.float32)
STD = np.array([0.229, 0.224, 0.225], dtype=np.float32)


def pool_density(density, stride):
    h, w = density.shape
    return density.reshape(h // stride, stride, w // stride, stride).sum(axis=(1, 3))


class CrowdDataset(Dataset):
    """Images with head annotations. Training items are random crops, validation items whole images."""

    def __init__(self, root, split, crop=None, stride=4, seed=0):
        self.image_dir = os.path.join(root, split, "images")
        self.head_dir = os.path.join(root, split, "heads")
        self.names = sorted(os.path.splitext(f)[0] for f in os.listdir(self.image_dir))
        self.crop = crop
        self.stride = stride
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        name = self.names[index]
        image = np.asarray(Image.open(os.path.join(self.image_dir, name + ".jpg")).convert("RGB"))
        heads = np.load(os.path.join(self.head_dir, name + ".npy"))
        height, width = image.shape[:2]
        density = density_map(heads, height, width)

        if self.crop is not None:
            top = self.rng.integers(0, height - self.crop + 1)
            left = self.rng.integers(0, width - self.crop + 1)
            image = image[top : top + self.crop, left : left + self.crop]
            density = density[top : top + self.crop, left : left + self.crop]
            if self.rng.random() < 0.5:
                image = image[:, ::-1]
                density = density[:, ::-1]

        image = (image.astype(np.float32) / 255.0 - MEAN) / STD
        target = pool_density(density, self.stride)
        return (
            torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1))),
            torch.from_numpy(np.ascontiguousarray(target)).unsqueeze(0),
            float(len(heads)),
        )
