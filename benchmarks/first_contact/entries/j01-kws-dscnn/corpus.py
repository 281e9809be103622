"""A toy command corpus: each word is a sequence of three formant-like chirps."""
import numpy as np
import torch
from torch.utils.data import Dataset

from augment import BackgroundNoise, CenterCrop, Compose, RandomCrop, RandomGain, SpeedPerturb
from features import LogMel


def synthesize(words, per_word, seconds, sample_rate, seed):
    rng = np.random.default_rng(seed)
    recipes = np.random.default_rng(1234).uniform(200, 3500, size=(words, 3, 2))
    n = int(seconds * sample_rate)
    t = np.arange(n) / sample_rate
    clips = np.empty((words * per_word, n), dtype=np.int16)
    labels = np.repeat(np.arange(words), per_word)
    for i, w in enumerate(labels):
        seg = (t * 3.0).astype(int) % 3
        start, stop = recipes[w, seg, 0], recipes[w, seg, 1]
        frac = (t * 3.0) % 1.0
        freq = (start + (stop - start) * frac) * rng.uniform(0.93, 1.07)
        wave = np.sin(2 * np.pi * np.cumsum(freq) / sample_rate + rng.uniform(0, 6.28))
        wave *= 0.3 + 0.7 * np.sin(np.pi * frac)
        clips[i] = (wave * 9000).astype(np.int16)
    return clips, labels


class CommandDataset(Dataset):
    def __init__(self, clips, labels, config, train):
        self.clips, self.labels = clips, labels
        self.features = LogMel(config)
        self.rng = np.random.default_rng(config.seed)
        window = int(config.crop_seconds * config.sample_rate)
        if train:
            self.transform = Compose(SpeedPerturb(), BackgroundNoise(), RandomGain(), RandomCrop(window))
        else:
            self.transform = CenterCrop(window)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        wave = self.clips[index].astype(np.float32) / 32768.0
        wave = self.transform(wave, self.rng)
        mel = self.features(torch.from_numpy(np.ascontiguousarray(wave)))
        return mel.unsqueeze(0), int(self.labels[index])
