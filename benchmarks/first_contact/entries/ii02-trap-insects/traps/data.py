import json
import random
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset

MEAN = torch.tensor([0.80, 0.72, 0.25]).view(3, 1, 1)
STD = torch.tensor([0.20, 0.18, 0.20]).view(3, 1, 1)


class TrapPhotos(Dataset):
    """Photographs of sticky traps with boxes (x1, y1, x2, y2) scaled to the input size."""

    def __init__(self, root, split, size, augment=False):
        info = json.loads((Path(root) / f"{split}.json").read_text())
        self.folder = Path(root) / split
        self.species = info["species"]
        self.records = info["images"]
        self.size = size
        self.augment = augment

    def __len__(self):
        return len(self.records)

    def load(self, i):
        record = self.records[i]
        image = Image.open(self.folder / record["file"]).convert("RGB")
        image = image.resize((self.size, self.size), Image.BILINEAR)
        return torch.from_numpy(np.array(image)).permute(2, 0, 1)

    def __getitem__(self, i):
        record = self.records[i]
        image = self.load(i).float() / 255
        scale = torch.tensor([self.size / record["width"], self.size / record["height"]]).repeat(2)
        boxes = torch.tensor(record["boxes"]).view(-1, 4)
        boxes = torch.cat([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], 1) * scale
        labels = torch.tensor(record["labels"])
        if self.augment:
            if random.random() < 0.5:
                image = image.flip(2)
                boxes = torch.stack([self.size - boxes[:, 2], boxes[:, 1], self.size - boxes[:, 0], boxes[:, 3]], 1)
            if random.random() < 0.5:
                image = image.flip(1)
                boxes = torch.stack([boxes[:, 0], self.size - boxes[:, 3], boxes[:, 2], self.size - boxes[:, 1]], 1)
            image = (image * random.uniform(0.85, 1.15)).clamp(0, 1)
        return (image - MEAN) / STD, boxes, labels


def collate(batch):
    images, boxes, labels = zip(*batch)
    return torch.stack(images), list(boxes), list(labels)
