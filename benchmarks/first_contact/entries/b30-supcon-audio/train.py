import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from losses import SupConLoss

SR, DUR = 4000, 0.5


def tones(n, classes, seed):
    """notes with class specific overtones"""
    g = torch.Generator().manual_seed(seed)
    t = torch.arange(int(SR * DUR)) / SR
    y = torch.randint(0, classes, (n,), generator=g)
    f0 = 150 + 200 * torch.rand(n, 1, generator=g)
    wav = torch.zeros(n, len(t))
    for k in range(1, 5):
        amp = (0.5 + 0.5 * torch.cos(k * (y[:, None] + 1.0))) / k
        wav += amp * torch.sin(2 * math.pi * k * f0 * t)
    return wav + 0.1 * torch.randn(wav.shape, generator=g), y


class LogSpec(nn.Module):
    def __init__(self, n_fft=128, hop=64):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.register_buffer("window", torch.hann_window(n_fft))

    def forward(self, w):
        s = torch.stft(w, self.n_fft, self.hop, window=self.window, return_complex=True)
        return torch.log1p(s.abs()).unsqueeze(1)


class AudioEncoder(nn.Module):
    def __init__(self, width=24, dim=64):
        super().__init__()
        self.spec = LogSpec()
        self.body = nn.Sequential(
            nn.Conv2d(1, width, 3, 2, 1), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, 2, 1), nn.BatchNorm2d(2 * width), nn.ReLU(),
            nn.Conv2d(2 * width, 2 * width, 3, 1, 1), nn.BatchNorm2d(2 * width), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2 * width, dim))

    def forward(self, w):
        return F.normalize(self.body(self.spec(w)), dim=1)


def two_views(w):
    views = []
    for _ in range(2):
        gain = 0.7 + 0.6 * torch.rand(len(w), 1)
        shift = int(torch.randint(0, 200, ()))
        views.append(torch.roll(w, shift, 1) * gain + 0.05 * torch.randn_like(w))
    return torch.cat(views)


def probe(enc, w, y):
    enc.eval()
    with torch.no_grad():
        z = torch.cat([enc(c) for c in w.split(128)])
        half = len(z) // 2
        centers = torch.stack([z[:half][y[:half] == c].mean(0) for c in range(int(y.max()) + 1)])
        acc = ((z[half:] @ centers.T).argmax(1) == y[half:]).float().mean().item()
    enc.train()
    return acc


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--n", type=int, default=1600)
    ap.add_argument("--epochs", type=int, default=12)
    ap.add_argument("--batch", type=int, default=40)
    ap.add_argument("--classes", type=int, default=8)
    ap.add_argument("--lr", type=float, default=0.02)
    a = ap.parse_args()
    torch.manual_seed(0)
    wav, y = tones(a.n, a.classes, 0)
    test_w, test_y = tones(256, a.classes, 1)
    enc, crit = AudioEncoder(), SupConLoss()
    opt = torch.optim.SGD(enc.parameters(), lr=a.lr, momentum=0.9)
    for epoch in range(a.epochs):
        perm, tot = torch.randperm(a.n), 0.0
        for idx in perm.split(a.batch):
            views = two_views(wav[idx])
            labels = y[idx].repeat(2)
            loss = crit(enc(views), labels)
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item()
        print(f"epoch {epoch:2d} loss {tot / math.ceil(a.n / a.batch):.4f} probe {probe(enc, test_w, test_y):.3f}")


if __name__ == "__main__":
    main()
