"""Keyword spotting on short clips with a small residual CNN."""
import argparse
import math
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

SAMPLE_RATE = 16000
WORDS = ["yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go"]


class SyntheticCommands(Dataset):
    """Each word is a chirp with its own start and end pitch, plus noise."""

    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        t = np.arange(SAMPLE_RATE, dtype=np.float32) / SAMPLE_RATE
        self.labels = rng.integers(0, len(WORDS), n)
        waves = np.empty((n, SAMPLE_RATE), dtype=np.float32)
        for i, y in enumerate(self.labels):
            f0, f1 = 200 + 120 * y, 1400 - 90 * y
            phase = 2 * math.pi * (f0 * t + 0.5 * (f1 - f0) * t * t)
            waves[i] = np.sin(phase + rng.uniform(0, 6.28))
        waves += 0.3 * rng.standard_normal(waves.shape, dtype=np.float32)
        self.waves = torch.from_numpy(waves)
        self.labels = torch.from_numpy(self.labels)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        shift = random.randint(-800, 800)
        return torch.roll(self.waves[i], shift), self.labels[i]


def hz_to_mel(f):
    return 2595.0 * math.log10(1.0 + f / 700.0)


def mel_to_hz(m):
    return 700.0 * (10 ** (m / 2595.0) - 1.0)


def mel_filterbank(n_mels, n_fft, sample_rate, fmin=20.0, fmax=7600.0):
    lo, hi = hz_to_mel(fmin), hz_to_mel(fmax)
    points = [mel_to_hz(lo + (hi - lo) * i / (n_mels + 1)) for i in range(n_mels + 2)]
    bins = [sample_rate / 2 * k / (n_fft // 2) for k in range(n_fft // 2 + 1)]
    fb = torch.zeros(len(bins), n_mels)
    for m in range(n_mels):
        left, center, right = points[m : m + 3]
        for k, f in enumerate(bins):
            w = min((f - left) / (center - left), (right - f) / (right - center))
            if w > 0:
                fb[k, m] = w
    return fb


class LogMel(nn.Module):
    def __init__(self, n_fft=512, hop=160, n_mels=40):
        super().__init__()
        self.n_fft, self.hop, self.n_mels = n_fft, hop, n_mels
        self.register_buffer("window", torch.hann_window(n_fft))

    def forward(self, wave):
        spec = torch.stft(wave, self.n_fft, self.hop, window=self.window, return_complex=True)
        power = spec.real.square() + spec.imag.square()
        fb = mel_filterbank(self.n_mels, self.n_fft, SAMPLE_RATE).to(wave.device)
        mel = torch.matmul(power.transpose(1, 2), fb)
        return torch.log(mel + 1e-6).unsqueeze(1)


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.conv1 = nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(c)
        self.conv2 = nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(c)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(x + self.bn2(self.conv2(y)))


class KWSNet(nn.Module):
    def __init__(self, classes, width=16):
        super().__init__()
        self.frontend = LogMel()
        self.stem = nn.Conv2d(1, width, 3, stride=(2, 2), padding=1, bias=False)
        self.pool = nn.AvgPool2d((2, 2))
        self.blocks = nn.Sequential(Block(width))
        self.head = nn.Linear(width, classes)

    def forward(self, wave):
        x = self.frontend(wave)
        x = self.pool(F.relu(self.stem(x)))
        x = self.blocks(x)
        return self.head(x.mean(dim=(2, 3)))


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    hits = total = 0
    for wave, y in loader:
        hits += (model(wave).argmax(1) == y).sum().item()
        total += len(y)
    model.train()
    return hits / total


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--clips", type=int, default=1280)
    args = p.parse_args()

    torch.manual_seed(0)
    random.seed(0)
    train = DataLoader(SyntheticCommands(args.clips, 1), args.batch_size, shuffle=True, drop_last=True)
    val = DataLoader(SyntheticCommands(128, 2), 64)
    model = KWSNet(len(WORDS))
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-2)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, args.lr, total_steps=args.epochs * len(train))

    for epoch in range(args.epochs):
        running = 0.0
        for wave, y in train:
            loss = F.cross_entropy(model(wave), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            running += loss.item()
        print(f"epoch {epoch} loss {running / len(train):.3f} val acc {evaluate(model, val):.3f}")
    torch.save(model.state_dict(), "kws.pt")


if __name__ == "__main__":
    main()
