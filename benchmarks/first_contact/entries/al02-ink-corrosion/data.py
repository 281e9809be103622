from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset

MEAN = np.array([0.58, 0.62, 0.70, 0.77, 0.83], dtype=np.float32)[:, None, None] * 255
STD = np.array([0.11, 0.11, 0.11, 0.09, 0.04], dtype=np.float32)[:, None, None] * 255


def load_folios(folder):
    folios = []
    for path in sorted(Path(folder).glob("f*.npz")):
        with np.load(path) as archive:
            folios.append((archive["bands"], archive["mask"]))
    if not folios:
        raise SystemExit(f"no folios in {folder}: run prepare.py first")
    return folios


def normalise(bands):
    return (bands.astype(np.float32) - MEAN) / STD


class RandomCrops(Dataset):
    """`per_folio` random crops of each folio in an epoch, turned and mirrored."""

    def __init__(self, folios, crop=64, per_folio=12, seed=0):
        self.folios = folios
        self.crop = crop
        self.per_folio = per_folio
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return len(self.folios) * self.per_folio

    def __getitem__(self, index):
        bands, mask = self.folios[index // self.per_folio]
        y = self.rng.integers(bands.shape[1] - self.crop + 1)
        x = self.rng.integers(bands.shape[2] - self.crop + 1)
        bands = bands[:, y:y + self.crop, x:x + self.crop]
        mask = mask[y:y + self.crop, x:x + self.crop]
        turns = int(self.rng.integers(4))
        bands, mask = np.rot90(bands, turns, (1, 2)), np.rot90(mask, turns)
        if self.rng.random() < 0.5:
            bands, mask = bands[:, :, ::-1], mask[:, ::-1]
        bands = normalise(bands)
        bands = bands * self.rng.uniform(0.95, 1.05) + self.rng.normal(0, 0.05, (5, 1, 1)).astype(np.float32)
        return (
            torch.from_numpy(np.ascontiguousarray(bands, dtype=np.float32)),
            torch.from_numpy(np.ascontiguousarray(mask[None], dtype=np.float32)),
        )


def tile(folios, crop=64):
    """All crops of the held-out folios side by side."""
    images, masks = [], []
    for bands, mask in folios:
        bands = normalise(bands)
        for y in range(0, bands.shape[1] - crop + 1, crop):
            for x in range(0, bands.shape[2] - crop + 1, crop):
                images.append(bands[:, y:y + crop, x:x + crop])
                masks.append(mask[None, y:y + crop, x:x + crop])
    return torch.from_numpy(np.stack(images)), torch.from_numpy(np.stack(masks)).float()
