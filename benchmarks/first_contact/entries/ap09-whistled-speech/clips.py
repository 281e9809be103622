import pathlib
from functools import lru_cache

import torch
from torch.utils.data import Dataset


@lru_cache(maxsize=256)
def load_clip(path):
    clip = torch.load(path)
    return clip["spectrogram"], clip["word"]


class Whistles(Dataset):
    def __init__(self, folder, numbers, shift=0, masks=0):
        paths = sorted(pathlib.Path(folder).glob("*.pt"))
        self.paths = [str(paths[number]) for number in numbers]
        self.shift, self.masks = shift, masks

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        spectrogram, word = load_clip(self.paths[index])
        if self.shift:
            spectrogram = spectrogram.roll(int(torch.randint(-self.shift, self.shift + 1, ())), 1)
        for _ in range(self.masks):
            start = int(torch.randint(spectrogram.size(1) - 8, ()))
            spectrogram = spectrogram.clone()
            spectrogram[:, start:start + 6] = 0.0
        return spectrogram.unsqueeze(0), word
