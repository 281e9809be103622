import numpy as np
import torch


def load_brands(path):
    """(brands, photos, 1, H, W) floats around zero, for training and for validation."""
    with np.load(path) as archive:
        return [torch.from_numpy(archive[k]).unsqueeze(2).float().div_(127.5).sub_(1.0) for k in ("train", "val")]


def draw_pairs(photos, size):
    """Half of the pairs show one brand twice, the others two brands."""
    brands, each = photos.shape[:2]
    same = torch.arange(size) % 2 == 0
    first = torch.randint(brands, (size,))
    other = (first + torch.randint(1, brands, (size,))) % brands
    second = torch.where(same, first, other)
    shot = torch.randint(each, (size,))
    another = (shot + torch.randint(1, each, (size,))) % each
    return photos[first, shot], photos[second, another], same.float()
