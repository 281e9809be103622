"""Which of 24 gongs was struck, and how hard: a CNN on log-mel spectrograms of random windows."""
import math

import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F

RATE = 44100
FRAME = math.ceil(0.025 * RATE)
HOP = math.ceil(0.010 * RATE)
WINDOW = int(0.5 * RATE)
MELS, GONGS = 48, 24
EPOCHS, BATCH, VISITS = 10, 20, 5


class Strikes(torch.utils.data.Dataset):
    def __init__(self, waves, table, names, visits=1):
        self.waves, self.table = waves, table
        self.names = list(names) * visits

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        row = self.table[self.table["strike"] == self.names[i]].iloc[0]
        wave = self.waves[row["row"]]
        first = int(torch.randint(len(wave) - WINDOW, ()))
        piece = torch.from_numpy(wave[first:first + WINDOW].astype(np.float32)) / 32768
        piece = piece * 10 ** (row["gain_db"] / 20)
        return piece, int(row["gong"]), np.float32(row["force"])


def mel_bank(bins, mels, rate, low=50.0, high=12000.0):
    def mel(f):
        return 2595 * np.log10(1 + np.asarray(f) / 700)

    edges = 700 * (10 ** (np.linspace(mel(low), mel(high), mels + 2) / 2595) - 1)
    f = np.linspace(0, rate / 2, bins)[:, None]
    up = (f - edges[:-2]) / (edges[1:-1] - edges[:-2])
    fall = (edges[2:] - f) / (edges[2:] - edges[1:-1])
    return torch.from_numpy(np.maximum(0, np.minimum(up, fall)).astype(np.float32))


class LogMel(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(FRAME))
        self.register_buffer("bank", mel_bank(FRAME // 2 + 1, MELS, RATE))

    @torch.no_grad()
    def forward(self, wave):
        wave = wave + 0.003 * torch.randn_like(wave)
        spec = torch.stft(wave, n_fft=FRAME, hop_length=HOP, win_length=FRAME, window=self.window, return_complex=True)
        power = spec.real ** 2 + spec.imag ** 2
        mels = torch.log(power.transpose(1, 2) @ self.bank + 1e-5)
        return (mels - mels.mean((1, 2), keepdim=True)) / mels.std((1, 2), keepdim=True)


class GongNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.front = LogMel()
        chain, cin = [], 1
        for cout in (width, 2 * width, 4 * width):
            chain += [nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True), nn.MaxPool2d(2)]
            cin = cout
        self.chain = nn.Sequential(*chain)
        self.gong, self.force = nn.Linear(cin, GONGS), nn.Linear(cin, 1)

    def forward(self, wave):
        h = self.chain(self.front(wave).unsqueeze(1)).mean((2, 3))
        return self.gong(h), self.force(h).squeeze(1)


@torch.no_grad()
def test(net, loader):
    net.eval()
    right, gap, n = 0, 0.0, 0
    for wave, gong, force in loader:
        scores, strength = net(wave)
        right += (scores.argmax(1) == gong).sum().item()
        gap += (strength - force).abs().sum().item()
        n += len(gong)
    net.train()
    return right / n, gap / n


def main():
    torch.manual_seed(12)
    waves = np.load("strikes.npy")
    table = pd.read_csv("strikes.csv")
    names = table["strike"].tolist()
    loader = torch.utils.data.DataLoader(Strikes(waves, table, names[40:], VISITS), BATCH, shuffle=True, drop_last=True)
    held = torch.utils.data.DataLoader(Strikes(waves, table, names[:40]), BATCH)
    net = GongNet()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-4)
    plan = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.05, epochs=EPOCHS, steps_per_epoch=len(loader))
    for epoch in range(EPOCHS):
        total = 0.0
        for wave, gong, force in loader:
            scores, strength = net(wave)
            loss = F.cross_entropy(scores, gong) + 2 * F.mse_loss(strength, force)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            plan.step()
            total += loss.item()
        accuracy, gap = test(net, held)
        print(f"epoch {epoch}  loss {total / len(loader):.3f}  accuracy {accuracy:.3f}  force off by {gap:.3f}")
    torch.save(net.state_dict(), "gongs.pt")


if __name__ == "__main__":
    main()
