from pathlib import Path

import numpy as np
import torch


def load_images(folder, name):
    return torch.from_numpy(np.load(Path(folder) / f"{name}.npy"))


def normalise(images, mean, std):
    return (images.float() / 255.0 - mean) / std


def channel_stats(images, sample=1000):
    x = images[:sample].float() / 255.0
    return x.mean((0, 2, 3), keepdim=True), x.std((0, 2, 3), keepdim=True)


def augment(images):
    """The sky has no preferred direction: one of the eight symmetries of the square for the batch."""
    k = int(torch.randint(0, 4, ()))
    if k:
        images = torch.rot90(images, k, (2, 3))
    if torch.rand(()) < 0.5:
        images = images.flip(3)
    return images


class BatchLoader:
    """Batches straight from one uint8 tensor."""

    def __init__(self, images, batch_size, mean, std):
        self.images = images
        self.batch_size = batch_size
        self.mean = mean
        self.std = std

    def __len__(self):
        return len(self.images) // self.batch_size

    def __iter__(self):
        order = torch.randperm(len(self.images))
        for i in range(len(self)):
            picked = order[i * self.batch_size:(i + 1) * self.batch_size]
            yield normalise(augment(self.images[picked]), self.mean, self.std)
