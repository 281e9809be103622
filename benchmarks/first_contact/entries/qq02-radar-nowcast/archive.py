"""Radar composites, one compressed file a day, as in the archive of the weather service."""
import glob
import os

import numpy as np
import torch
from torch.utils.data import Dataset

DBZ_STEP, DBZ_OFFSET = 0.5, -32.0


def to_dbz(codes):
    return codes.astype(np.float32) * DBZ_STEP + DBZ_OFFSET


class RadarArchive(Dataset):
    def __init__(self, folder, n_in, n_out, crop, stride, train):
        self.length = n_in + n_out
        self.n_in = n_in
        self.crop = crop
        self.train = train
        self.samples = []
        for path in sorted(glob.glob(os.path.join(folder, "*.npz"))):
            with np.load(path) as day:
                wet = day["wet_fraction"]
            for first in range(0, len(wet) - self.length + 1, stride):
                if wet[first:first + self.length].mean() > 0.02:
                    self.samples.append((path, first))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, first = self.samples[index]
        with np.load(path) as day:
            codes = day["dbz"][first:first + self.length]
        height, width = codes.shape[1:]
        if self.train:
            top = int(torch.randint(height - self.crop + 1, ()))
            left = int(torch.randint(width - self.crop + 1, ()))
        else:
            top, left = (height - self.crop) // 2, (width - self.crop) // 2
        codes = codes[:, top:top + self.crop, left:left + self.crop]
        dbz = np.clip(to_dbz(codes), 0.0, 60.0) / 60.0
        frames = torch.from_numpy(dbz).unsqueeze(1)
        return frames[:self.n_in], frames[self.n_in:]
