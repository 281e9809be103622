from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch.utils.data import DataLoader, Dataset

MEAN = np.array([0.67, 0.51, 0.35], dtype=np.float32)
STD = np.array([0.16, 0.15, 0.12], dtype=np.float32)


def resize(image, side):
    """Bilinear, corners kept."""
    h, w, _ = image.shape
    y = np.linspace(0, h - 1, side)
    x = np.linspace(0, w - 1, side)
    y0 = np.minimum(y.astype(int), h - 2)
    x0 = np.minimum(x.astype(int), w - 2)
    fy = (y - y0).astype(np.float32)[:, None, None]
    fx = (x - x0).astype(np.float32)[None, :, None]
    top = image[y0][:, x0] * (1 - fx) + image[y0][:, x0 + 1] * fx
    low = image[y0 + 1][:, x0] * (1 - fx) + image[y0 + 1][:, x0 + 1] * fx
    return top * (1 - fy) + low * fy


class CorkDataset(Dataset):
    def __init__(self, root, split, side=64, augment=False):
        self.root = Path(root)
        table = pd.read_csv(self.root / "stoppers.csv")
        self.table = table[table.split == split].reset_index(drop=True)
        self.side = side
        self.augment = augment

    def __len__(self):
        return len(self.table)

    def __getitem__(self, index):
        row = self.table.iloc[index]
        image = np.load(self.root / "images" / row["file"])
        image = image.astype(np.float32) / 255
        image = resize(image, self.side)
        image = (image - MEAN) / STD
        image = torch.from_numpy(image).permute(2, 0, 1)
        if self.augment:
            if torch.rand(()) < 0.5:
                image = image.flip(2)
            if torch.rand(()) < 0.5:
                image = image.flip(1)
            image = image * (0.9 + 0.2 * torch.rand(()))
        return image, int(row["grade"])


def make_loaders(root, batch_size, side):
    train = CorkDataset(root, "train", side, augment=True)
    val = CorkDataset(root, "val", side)
    train_loader = DataLoader(train, batch_size=batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(val, batch_size=batch_size)
    return train_loader, val_loader
