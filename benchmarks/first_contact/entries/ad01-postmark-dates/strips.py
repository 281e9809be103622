import os

import numpy as np
import pandas as pd
import torch
from PIL import Image
from torch.utils.data import Dataset


class StripDataset(Dataset):
    """Postmark strips in half resolution, with the eight digits of the date."""

    def __init__(self, root, split, size=(104, 28)):
        self.root = root
        self.size = size
        frame = pd.read_csv(os.path.join(root, f"{split}.csv"), dtype=str)
        self.files = frame["file"].tolist()
        self.dates = [torch.tensor([int(c) for c in date]) for date in frame["date"]]

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        image = Image.open(os.path.join(self.root, self.files[i])).convert("L")
        image = image.resize(self.size, Image.BICUBIC)
        pixels = np.asarray(image, dtype=np.float32) / 255.0
        pixels = (pixels - 0.6) / 0.25
        return torch.from_numpy(pixels).unsqueeze(0), self.dates[i]
