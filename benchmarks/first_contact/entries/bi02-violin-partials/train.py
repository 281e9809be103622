"""Fits a harmonic-plus-noise synthesiser to the phrases of one player."""
import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from synth import FilteredNoise, HarmonicBank, Room, SpectralLoss


class Phrases(Dataset):
    def __init__(self, path, seconds, part, seed=0):
        raw = np.load(path)
        self.rate, self.hop = int(raw["rate"]), int(raw["hop"])
        keep = slice(6, None) if part == "train" else slice(0, 6)
        self.audio, self.f0, self.loudness = (torch.from_numpy(raw[k][keep]) for k in ("audio", "f0", "loudness"))
        self.frames = int(seconds * self.rate) // self.hop
        self.repeat = 20 if part == "train" else 1
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return len(self.audio) * self.repeat

    def __getitem__(self, i):
        i = i % len(self.audio)
        a = int(self.rng.integers(0, self.f0.shape[1] - self.frames)) if self.repeat > 1 else 0
        b = a + self.frames
        return self.audio[i, a * self.hop:b * self.hop], self.f0[i, a:b], self.loudness[i, a:b]


class Controller(nn.Module):
    def __init__(self, hidden, n_harmonics, n_bands):
        super().__init__()
        self.pitch = nn.Sequential(nn.Linear(1, hidden), nn.LayerNorm(hidden), nn.LeakyReLU())
        self.level = nn.Sequential(nn.Linear(1, hidden), nn.LayerNorm(hidden), nn.LeakyReLU())
        self.rnn = nn.GRU(2 * hidden, hidden, batch_first=True)
        self.out = nn.Sequential(nn.Linear(3 * hidden, hidden), nn.LayerNorm(hidden), nn.LeakyReLU())
        self.amplitude = nn.Linear(hidden, 1)
        self.distribution = nn.Linear(hidden, n_harmonics)
        self.noise = nn.Linear(hidden, n_bands)

    @staticmethod
    def squash(x):
        return 2 * torch.sigmoid(x) ** 2.3 + 1e-7

    def forward(self, f0, loudness):
        a = self.pitch(torch.log2(f0 / 440))
        b = self.level(loudness / 40 + 0.5)
        h, _ = self.rnn(torch.cat([a, b], -1))
        h = self.out(torch.cat([h, a, b], -1))
        return self.squash(self.amplitude(h)), self.squash(self.distribution(h)), self.squash(self.noise(h) - 5)


class Violin(nn.Module):
    def __init__(self, cfg, rate, hop):
        super().__init__()
        self.control = Controller(cfg.hidden, cfg.harmonics, cfg.bands)
        self.strings = HarmonicBank(rate, hop, cfg.harmonics)
        self.bow = FilteredNoise(hop, cfg.bands)
        self.room = Room(int(cfg.room * rate))

    def forward(self, f0, loudness):
        f0, loudness = f0.unsqueeze(-1), loudness.unsqueeze(-1)
        amplitude, distribution, bands = self.control(f0, loudness)
        return self.room(self.strings(f0, amplitude, distribution) + self.bow(bands))


def evaluate(model, loss_fn, loader):
    model.eval()
    with torch.no_grad():
        losses = [loss_fn(model(f0, loud), audio).item() for audio, f0, loud in loader]
    model.train()
    return sum(losses) / len(losses)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="data/phrases.npz")
    p.add_argument("--out", default="violin")
    p.add_argument("--steps", type=int, default=1500)
    p.add_argument("--batch", type=int, default=4)
    p.add_argument("--seconds", type=float, default=1.5)
    p.add_argument("--hidden", type=int, default=128)
    p.add_argument("--harmonics", type=int, default=48)
    p.add_argument("--bands", type=int, default=65)
    p.add_argument("--room", type=float, default=0.6)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--every", type=int, default=250)
    cfg = p.parse_args()
    torch.manual_seed(1)
    out = Path(cfg.out)
    out.mkdir(exist_ok=True)

    train = Phrases(cfg.data, cfg.seconds, "train")
    valid = Phrases(cfg.data, cfg.seconds, "valid")
    loader = DataLoader(train, cfg.batch, shuffle=True, drop_last=True)
    check = DataLoader(valid, cfg.batch)
    model = Violin(cfg, train.rate, train.hop)
    loss_fn = SpectralLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9995)
    history, step, since = [], 0, time.time()
    while step < cfg.steps:
        for audio, f0, loudness in loader:
            loss = loss_fn(model(f0, loudness), audio)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 3.0)
            optimizer.step()
            scheduler.step()
            history.append(loss.item())
            step += 1
            if step % 20 == 0:
                print(f"step {step:5d}  loss {np.mean(history[-20:]):.4f}  {(time.time() - since) / 20 * 1e3:.0f} ms/step", flush=True)
                since = time.time()
            if step % cfg.every == 0:
                print(f"step {step:5d}  valid {evaluate(model, loss_fn, check):.4f}", flush=True)
                torch.save(model.state_dict(), out / "model.pt")
                (out / "history.json").write_text(json.dumps(history))
            if step >= cfg.steps:
                break


if __name__ == "__main__":
    main()
