import argparse

import numpy as np
import torch
import torch.nn as nn

from features import LogMel

WORDS = ["up", "down", "left", "right", "stop", "go"]


def synth_clips(n, rate=8000, seconds=0.5, seed=0):
    """Two-formant chirps, one contour per keyword, with noise and random onset."""
    rng = np.random.default_rng(seed)
    t = np.arange(int(rate * seconds)) / rate
    labels = rng.integers(0, len(WORDS), n)
    f0 = np.array([300, 900, 500, 700, 1200, 400])[labels][:, None] * rng.uniform(0.9, 1.1, (n, 1))
    slope = np.array([800, -900, 0, 300, -300, 1200])[labels][:, None] * rng.uniform(0.8, 1.2, (n, 1))
    onset = rng.uniform(0, 0.15, (n, 1))
    phase = 2 * np.pi * (f0 * t + 0.5 * slope * t ** 2)
    envelope = np.exp(-((t - 0.2 - onset) / 0.12) ** 2)
    waves = envelope * (np.sin(phase) + 0.5 * np.sin(2.3 * phase)) + 0.3 * rng.standard_normal((n, len(t)))
    return waves, labels


class KeywordNet(nn.Module):
    def __init__(self, n_mels=32, channels=48, classes=len(WORDS)):
        super().__init__()
        self.frontend = LogMel(n_mels=n_mels)
        self.conv = nn.Sequential(
            nn.Conv1d(n_mels, channels, 5, padding=2), nn.BatchNorm1d(channels), nn.ReLU(),
            nn.Conv1d(channels, channels * 2, 5, stride=2, padding=2), nn.BatchNorm1d(channels * 2), nn.ReLU())
        self.gru = nn.GRU(channels * 2, 64, batch_first=True)
        self.head = nn.Linear(64, classes)

    def forward(self, wave):
        h = self.conv(self.frontend(wave).transpose(1, 2)).transpose(1, 2)
        return self.head(self.gru(h)[0].mean(dim=1))


def accuracy(model, waves, labels, batch=256):
    model.eval()
    hits = 0
    with torch.no_grad():
        for s in range(0, len(waves), batch):
            hits += (model(waves[s:s + batch]).argmax(1) == labels[s:s + batch]).sum().item()
    model.train()
    return hits / len(waves)


def train(args):
    torch.manual_seed(args.seed)
    waves, labels = synth_clips(args.clips, seed=args.seed)
    waves, labels = torch.from_numpy(waves), torch.from_numpy(labels)
    test_waves, test_labels = synth_clips(500, seed=args.seed + 1)
    test_waves, test_labels = torch.from_numpy(test_waves), torch.from_numpy(test_labels)

    model = KeywordNet().double()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=args.lr)
    loss_fn = nn.CrossEntropyLoss()

    for epoch in range(args.epochs):
        perm = torch.randperm(len(waves))
        losses = []
        for i in range(0, len(waves), args.batch):
            idx = perm[i:i + args.batch]
            logits = model(waves[idx])
            loss = loss_fn(logits, labels[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: loss {np.mean(losses):.4f}  test acc {accuracy(model, test_waves, test_labels):.3f}")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--clips", type=int, default=3200)
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--lr", type=float, default=5e-4)
    p.add_argument("--seed", type=int, default=0)
    train(p.parse_args())
