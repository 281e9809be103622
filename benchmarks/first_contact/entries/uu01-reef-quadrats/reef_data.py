"""The survey photographs as a dataset."""
import os

import numpy as np
import pandas as pd
import torch
from PIL import Image
from torch.utils.data import Dataset

MEAN = torch.tensor([0.36, 0.38, 0.37]).view(3, 1, 1)
STD = torch.tensor([0.20, 0.20, 0.20]).view(3, 1, 1)


class ReefQuadrats(Dataset):
    """Photographs with the taxa that were seen in them.

    Training pictures are cropped at a random place and flipped, validation pictures are cropped in the centre.
    """

    def __init__(self, root, split, side=112, margin=16):
        table = pd.read_csv(os.path.join(root, "labels.csv"))
        table = table[table["split"] == split].reset_index(drop=True)
        self.files = [os.path.join(root, "photos", name) for name in table["file"]]
        self.taxa = list(table.columns[2:])
        self.targets = torch.tensor(table[self.taxa].to_numpy(dtype=np.float32))
        self.side = side
        self.margin = margin
        self.augment = split == "train"

    def __len__(self):
        return len(self.files)

    def load(self, index):
        full = self.side + self.margin
        image = Image.open(self.files[index]).convert("RGB")
        image = image.resize((full, full), Image.BICUBIC)
        return torch.from_numpy(np.array(image)).permute(2, 0, 1)

    def __getitem__(self, index):
        image = self.load(index)
        if self.augment:
            top, left = torch.randint(0, self.margin + 1, (2,)).tolist()
        else:
            top = left = self.margin // 2
        image = image[:, top:top + self.side, left:left + self.side].float() / 255.0
        if self.augment and torch.rand(1).item() < 0.5:
            image = image.flip(-1)
        return (image - MEAN) / STD, self.targets[index]

    def positive_weight(self):
        share = self.targets.mean(0).clamp(0.05, 0.95)
        return (1 - share) / share
