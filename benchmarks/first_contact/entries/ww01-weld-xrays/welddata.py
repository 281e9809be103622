"""Radiographs of welds from a folder of PNG files with a CSV of labels."""
import csv
import random
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

CLASSES = ["none", "porosity", "crack", "lack_of_fusion", "slag"]
MEAN, STD = 0.43, 0.14


class Compose:
    def __init__(self, steps):
        self.steps = steps

    def __call__(self, image):
        for step in self.steps:
            image = step(image)
        return image


class Resize:
    def __init__(self, size):
        self.size = size

    def __call__(self, image):
        return image.resize((self.size, self.size), Image.BICUBIC)


class RandomFlip:
    """Mirrors left-right and up-down, each with probability 0.5."""

    def __call__(self, image):
        if random.random() < 0.5:
            image = image.transpose(Image.FLIP_LEFT_RIGHT)
        if random.random() < 0.5:
            image = image.transpose(Image.FLIP_TOP_BOTTOM)
        return image


class RandomShift:
    """Moves the picture by a few pixels, repeating nothing (wraps round)."""

    def __init__(self, pixels):
        self.pixels = pixels

    def __call__(self, image):
        dy, dx = (random.randint(-self.pixels, self.pixels) for _ in range(2))
        return Image.fromarray(np.roll(np.asarray(image), (dy, dx), axis=(0, 1)))


class RandomExposure:
    def __init__(self, gain=0.15, offset=12):
        self.gain, self.offset = gain, offset

    def __call__(self, image):
        gain = 1 + random.uniform(-self.gain, self.gain)
        offset = random.uniform(-self.offset, self.offset)
        return image.point([min(255, max(0, int(v * gain + offset))) for v in range(256)])


class ToTensor:
    def __call__(self, image):
        array = np.asarray(image, dtype=np.float32) / 255.0
        return torch.from_numpy((array - MEAN) / STD).unsqueeze(0)


class WeldDataset(Dataset):
    def __init__(self, root, split, transform):
        self.root = Path(root)
        self.transform = transform
        self.samples = []
        with open(self.root / "labels.csv", newline="") as file:
            for row in csv.DictReader(file):
                if row["split"] == split:
                    self.samples.append((row["file"], CLASSES.index(row["defect"])))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        name, label = self.samples[index]
        image = Image.open(self.root / "images" / name).convert("L")
        return self.transform(image), label

    def class_counts(self):
        counts = torch.zeros(len(CLASSES))
        for _, label in self.samples:
            counts[label] += 1
        return counts


def build_loaders(root, size, batch_size, workers):
    train_transform = Compose([Resize(size), RandomFlip(), RandomShift(size // 14), RandomExposure(), ToTensor()])
    test_transform = Compose([Resize(size), ToTensor()])
    train_set = WeldDataset(root, "train", train_transform)
    val_set = WeldDataset(root, "val", test_transform)
    train_loader = DataLoader(train_set, batch_size, shuffle=True, num_workers=workers, drop_last=True)
    val_loader = DataLoader(val_set, batch_size * 2, shuffle=False, num_workers=workers)
    return train_loader, val_loader
