import math
import random
from pathlib import Path

import numpy as np
import torch
from scipy.io import wavfile
from scipy.signal import resample_poly
from torch.utils.data import Dataset


def load_audio(path, sample_rate):
    rate, audio = wavfile.read(path)
    audio = audio.astype(np.float32) / 32768.0
    if rate != sample_rate:
        g = math.gcd(rate, sample_rate)
        audio = resample_poly(audio, sample_rate // g, rate // g).astype(np.float32)
    return audio


def crop(audio, length, rng):
    if len(audio) < length:
        return np.pad(audio, (0, length - len(audio)))
    start = rng.randint(0, len(audio) - length)
    return audio[start:start + length]


def mix(clean, noise, snr):
    clean_power = np.mean(clean ** 2) + 1e-8
    noise_power = np.mean(noise ** 2) + 1e-8
    gain = math.sqrt(clean_power / (noise_power * 10 ** (snr / 10)))
    return clean + gain * noise


class NoisySpeech(Dataset):
    """Pairs of (noisy, clean) speech, mixed on the fly with a random noise at a random SNR."""

    def __init__(self, root, split, sample_rate=16000, seconds=None, snr=(-5, 15)):
        self.clean = sorted(Path(root, "clean", split).glob("*.wav"))
        self.noise = sorted(Path(root, "noise").glob("*.wav"))
        self.sample_rate = sample_rate
        self.length = None if seconds is None else int(seconds * sample_rate)
        self.snr = snr
        self.split = split

    def __len__(self):
        return len(self.clean)

    def __getitem__(self, index):
        rng = random if self.split == "train" else random.Random(index)
        clean = load_audio(self.clean[index], self.sample_rate)
        if self.length is not None:
            clean = crop(clean, self.length, rng)
        noise = load_audio(rng.choice(self.noise), self.sample_rate)
        noise = crop(noise, len(clean), rng)
        noisy = mix(clean, noise, rng.uniform(*self.snr))
        return torch.from_numpy(noisy.astype(np.float32)), torch.from_numpy(clean)
