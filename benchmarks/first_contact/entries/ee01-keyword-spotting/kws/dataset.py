from pathlib import Path

import numpy as np
import torch
from scipy.io import wavfile
from torch.utils.data import Dataset

from .features import log_mel

NOISE_DIR = "_background_noise_"


def load_wav(path):
    _, samples = wavfile.read(path)
    return samples.astype(np.float32) / 32768.0


class SpeechCommands(Dataset):
    """One second keyword clips as log mel spectrograms."""

    def __init__(self, root, subset, sample_rate=16000, noise_prob=0.8, noise_volume=0.1,
                 shift_ms=100, seed=0):
        self.root = Path(root)
        self.sample_rate = sample_rate
        self.noise_prob = noise_prob
        self.noise_volume = noise_volume
        self.shift = sample_rate * shift_ms // 1000
        self.train = subset == "train"
        self.rng = np.random.default_rng(seed)

        held_out = set((self.root / "validation_list.txt").read_text().split())
        self.labels = sorted(p.name for p in self.root.iterdir() if p.is_dir() and p.name != NOISE_DIR)
        self.items = []
        for index, label in enumerate(self.labels):
            for path in sorted((self.root / label).glob("*.wav")):
                if (f"{label}/{path.name}" in held_out) != self.train:
                    self.items.append((path, index))
        self.noise_files = sorted((self.root / NOISE_DIR).glob("*.wav"))

    def __len__(self):
        return len(self.items)

    def pad_or_trim(self, wave):
        if len(wave) >= self.sample_rate:
            return wave[:self.sample_rate]
        return np.pad(wave, (0, self.sample_rate - len(wave)))

    def time_shift(self, wave):
        shift = int(self.rng.integers(-self.shift, self.shift + 1))
        shifted = np.zeros_like(wave)
        if shift > 0:
            shifted[shift:] = wave[:-shift]
        elif shift < 0:
            shifted[:shift] = wave[-shift:]
        else:
            shifted[:] = wave
        return shifted

    def add_noise(self, wave):
        noise = load_wav(self.noise_files[self.rng.integers(len(self.noise_files))])
        start = int(self.rng.integers(0, len(noise) - len(wave)))
        volume = self.rng.uniform(0, self.noise_volume)
        return np.clip(wave + volume * noise[start:start + len(wave)], -1.0, 1.0)

    def spec_augment(self, features, freq_mask=6, time_mask=16):
        n_mels, frames = features.shape
        width = int(self.rng.integers(0, freq_mask + 1))
        start = int(self.rng.integers(0, n_mels - width + 1))
        features[start:start + width] = features.mean()
        width = int(self.rng.integers(0, time_mask + 1))
        start = int(self.rng.integers(0, frames - width + 1))
        features[:, start:start + width] = features.mean()
        return features

    def __getitem__(self, item):
        path, label = self.items[item]
        wave = self.pad_or_trim(load_wav(path))
        if self.train:
            wave = self.time_shift(wave)
            if self.rng.random() < self.noise_prob:
                wave = self.add_noise(wave)
        features = log_mel(torch.from_numpy(wave.astype(np.float32)), self.sample_rate)
        if self.train:
            features = self.spec_augment(features)
        return features.unsqueeze(0), label
