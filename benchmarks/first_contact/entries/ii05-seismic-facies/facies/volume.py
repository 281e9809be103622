from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset

CLASSES = ["upper_ns", "middle_ns", "lower_ns", "rijnland_chalk", "scruff", "zechstein"]


def load_volume(root):
    amplitude = np.load(Path(root) / "amplitude.npy").astype(np.float32)
    facies = np.load(Path(root) / "facies.npy")
    amplitude = (amplitude - amplitude.mean()) / amplitude.std()
    return torch.from_numpy(amplitude), torch.from_numpy(facies)


class SectionPatches(Dataset):
    """Random patches of inline sections, sometimes mirrored along the crossline axis."""

    def __init__(self, amplitude, facies, inlines, size, per_epoch):
        self.amplitude, self.facies = amplitude, facies
        self.inlines = torch.as_tensor(inlines)
        self.size = size
        self.per_epoch = per_epoch

    def __len__(self):
        return self.per_epoch

    def __getitem__(self, _):
        nx, nz = self.amplitude.shape[1:]
        i = self.inlines[torch.randint(len(self.inlines), ())]
        a = int(torch.randint(nx - self.size + 1, ()))
        b = int(torch.randint(nz - self.size + 1, ()))
        x = self.amplitude[i, a:a + self.size, b:b + self.size]
        y = self.facies[i, a:a + self.size, b:b + self.size]
        if torch.rand(()) < 0.5:
            x, y = x.flip(0), y.flip(0)
        return x[None], y.long()


class Sections(Dataset):
    """Whole inline sections for validation."""

    def __init__(self, amplitude, facies, inlines):
        self.amplitude, self.facies = amplitude, facies
        self.inlines = list(inlines)

    def __len__(self):
        return len(self.inlines)

    def __getitem__(self, k):
        i = self.inlines[k]
        return self.amplitude[i][None], self.facies[i].long()
