import glob
import math
import random

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.data import Dataset


def rotate(image, angle):
    """Turn a (1, H, W) picture about its middle."""
    c, s = math.cos(angle), math.sin(angle)
    theta = torch.tensor([[c, -s, 0.0], [s, c, 0.0]]).unsqueeze(0)
    grid = F.affine_grid(theta, [1, *image.shape], align_corners=False)
    return F.grid_sample(image.unsqueeze(0), grid, padding_mode="border", align_corners=False)[0]


class SlideGrains(Dataset):
    """Single grains from the archives of whole slides."""

    def __init__(self, paths, augment=False):
        self.slides = [np.load(p) for p in paths]
        self.augment = augment
        self.index = []
        for s, slide in enumerate(self.slides):
            self.index += [(s, g) for g in range(len(slide["taxon"]))]

    def __len__(self):
        return len(self.index)

    def __getitem__(self, i):
        s, g = self.index[i]
        slide = self.slides[s]
        image = torch.from_numpy(slide["grains"][g]).float().unsqueeze(0) / 255.0
        taxon = int(slide["taxon"][g])
        if self.augment:
            image = rotate(image, random.uniform(0, 2 * math.pi))
            if random.random() < 0.5:
                image = image.flip(-1)
            image = image + random.uniform(-0.1, 0.1)
        return (image - 0.7) / 0.25, taxon


def split_slides(folder, held_out):
    paths = sorted(glob.glob(f"{folder}/slide_*.npz"))
    return paths[:-held_out], paths[-held_out:]
