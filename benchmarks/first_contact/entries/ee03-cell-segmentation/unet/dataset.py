from pathlib import Path

import numpy as np
import torch
from PIL import Image
from scipy import ndimage
from torch.utils.data import Dataset

BACKGROUND, CELL, BORDER = 0, 1, 2


def class_map(instances):
    """Background, cell interior and the rim of each cell."""
    eroded = ndimage.grey_erosion(instances, size=3)
    dilated = ndimage.grey_dilation(instances, size=3)
    border = (instances > 0) & ((eroded != instances) | (dilated != instances))
    classes = np.where(instances > 0, CELL, BACKGROUND)
    classes[border] = BORDER
    return classes.astype(np.int64)


def weight_map(instances, w0=10.0, sigma=5.0):
    """Pixel weights of Ronneberger et al. 2015: gaps between touching cells count more."""
    ids = np.unique(instances)
    ids = ids[ids > 0]
    weights = np.ones(instances.shape, dtype=np.float32)
    if len(ids) < 2:
        return weights
    distances = np.stack([ndimage.distance_transform_edt(instances != i) for i in ids], axis=-1)
    distances.sort(axis=-1)
    nearest, second = distances[..., 0], distances[..., 1]
    gap = w0 * np.exp(-((nearest + second) ** 2) / (2 * sigma ** 2))
    return weights + (gap * (instances == 0)).astype(np.float32)


class CellTiles(Dataset):
    def __init__(self, root, crop=112, augment=False, seed=0):
        self.images = sorted(Path(root, "images").glob("*.png"))
        self.masks = sorted(Path(root, "masks").glob("*.png"))
        self.crop = crop
        self.augment = augment
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return len(self.images)

    def place(self, shape):
        if self.augment:
            return [int(self.rng.integers(0, size - self.crop + 1)) for size in shape]
        return [(size - self.crop) // 2 for size in shape]

    def __getitem__(self, index):
        image = np.asarray(Image.open(self.images[index]), dtype=np.float32) / 255
        instances = np.asarray(Image.open(self.masks[index])).astype(np.int32)
        classes = class_map(instances)
        weights = weight_map(instances)

        top, left = self.place(image.shape)
        window = (slice(top, top + self.crop), slice(left, left + self.crop))
        image, classes, weights = image[window], classes[window], weights[window]
        if self.augment:
            turns = int(self.rng.integers(4))
            image, classes, weights = (np.rot90(a, turns) for a in (image, classes, weights))
            if self.rng.random() < 0.5:
                image, classes, weights = image[:, ::-1], classes[:, ::-1], weights[:, ::-1]
            image = image * self.rng.uniform(0.8, 1.2) + self.rng.uniform(-0.1, 0.1)
        image = (image - 0.4) / 0.2
        return (torch.from_numpy(np.ascontiguousarray(image, dtype=np.float32)).unsqueeze(0),
                torch.from_numpy(np.ascontiguousarray(classes)),
                torch.from_numpy(np.ascontiguousarray(weights)))
