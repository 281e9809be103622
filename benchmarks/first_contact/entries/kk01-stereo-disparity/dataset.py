from pathlib import Path

import numpy as np
from PIL import Image
from torch.utils.data import Dataset


class StereoFolder(Dataset):
    def __init__(self, root, split, transform):
        self.root = Path(root) / split
        self.names = sorted(p.stem for p in (self.root / "left").glob("*.png"))
        if not self.names:
            raise FileNotFoundError(f"no pairs under {self.root}; run prepare.py")
        self.transform = transform

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        name = self.names[index]
        sample = {
            "left": np.asarray(Image.open(self.root / "left" / f"{name}.png").convert("RGB")),
            "right": np.asarray(Image.open(self.root / "right" / f"{name}.png").convert("RGB")),
            "disp": np.load(self.root / "disp" / f"{name}.npz")["disp"].astype(np.float32),
        }
        return self.transform(sample)
