"""Mandolin transcription of single plucks: course, fret and pick stroke from half a second of sound."""
from dataclasses import dataclass, field
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, random_split


@dataclass
class Config:
    archive: str = "plucks.npz"
    rate: int = 16000
    n_fft: int = 1024
    hop: int = 32
    n_mels: int = 64
    channels: int = 24
    blocks: int = 2
    batch: int = 16
    epochs: int = 60
    lr: float = 1e-3
    heads: dict = field(default_factory=lambda: {"course": 4, "fret": 12, "pick": 3})


class Plucks(Dataset):
    def __init__(self, cfg):
        self.cfg = cfg
        self.archive = np.load(cfg.archive)
        self.pcm = self.archive["pcm"]

    def __len__(self):
        return len(self.pcm)

    def __getitem__(self, i):
        wave = torch.from_numpy(self.pcm[i].astype(np.float32) / 32767)
        targets = {name: int(self.archive[name][i]) for name in self.cfg.heads}
        return wave, targets


def mel_bank(rate, n_fft, n_mels):
    hz = np.linspace(0, rate / 2, n_fft // 2 + 1)
    mel = np.linspace(0, 2595 * np.log10(1 + rate / 2 / 700), n_mels + 2)
    edge = 700 * (10 ** (mel / 2595) - 1)
    up = (hz[None] - edge[:-2, None]) / (edge[1:-1] - edge[:-2])[:, None]
    down = (edge[2:, None] - hz[None]) / (edge[2:] - edge[1:-1])[:, None]
    return np.maximum(0, np.minimum(up, down))


class LogMel(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.register_buffer("window", torch.from_numpy(np.hanning(cfg.n_fft)))
        self.register_buffer("bank", torch.from_numpy(mel_bank(cfg.rate, cfg.n_fft, cfg.n_mels)))

    @torch.no_grad()
    def forward(self, wave):
        frames = wave.unfold(-1, self.cfg.n_fft, self.cfg.hop) * self.window
        power = torch.fft.rfft(frames).abs().square()
        mel = torch.log(power @ self.bank.T + 1e-5)
        mel = (mel - mel.mean((1, 2), keepdim=True)) / (mel.std((1, 2), keepdim=True) + 1e-5)
        return mel.transpose(1, 2).unsqueeze(1).float()


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a, self.b = nn.Conv2d(c, c, 3, padding=1), nn.Conv2d(c, c, 3, padding=1)
        self.n1, self.n2 = nn.GroupNorm(4, c), nn.GroupNorm(4, c)

    def forward(self, x):
        y = F.relu(self.n1(self.a(x)))
        return F.relu(x + self.n2(self.b(y)))


class PluckNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.mel = LogMel(cfg)
        c = cfg.channels
        self.stem = nn.Conv2d(1, c, 5, stride=(4, 4), padding=2)
        self.blocks = nn.ModuleList(Block(c) for _ in range(cfg.blocks))
        self.heads = nn.ModuleDict({name: nn.Linear(c * 4, n) for name, n in cfg.heads.items()})

    def forward(self, wave):
        x = self.stem(self.mel(wave))
        for block in self.blocks:
            x = block(x)
        x = F.adaptive_avg_pool2d(x, (4, 1)).flatten(1)
        return {name: head(x) for name, head in self.heads.items()}


class Trainer:
    def __init__(self, cfg):
        torch.manual_seed(1)
        self.cfg = cfg
        data = Plucks(cfg)
        train, test = random_split(data, [len(data) - 200, 200])
        self.train = DataLoader(train, cfg.batch, shuffle=True, drop_last=True)
        self.test = DataLoader(test, 50)
        self.net = PluckNet(cfg)
        self.opt = torch.optim.NAdam(self.net.parameters(), lr=cfg.lr)
        self.seen = 0

    def losses(self, wave, targets):
        out = self.net(wave)
        return {name: F.cross_entropy(out[name], targets[name]) for name in out}, out

    def one_step(self, wave, targets):
        gain = torch.empty(len(wave), 1).uniform_(0.5, 1.0)
        losses, _ = self.losses(wave * gain, targets)
        loss = sum(losses.values())
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.seen += len(wave)
        return {k: v.item() for k, v in losses.items()}

    @torch.no_grad()
    def validate(self):
        self.net.eval()
        right = dict.fromkeys(self.cfg.heads, 0)
        for wave, targets in self.test:
            _, out = self.losses(wave, targets)
            for k in right:
                right[k] += (out[k].argmax(1) == targets[k]).sum().item()
        self.net.train()
        return {k: v / 200 for k, v in right.items()}

    def run(self):
        for epoch in range(self.cfg.epochs):
            t0 = time.time()
            for i, (wave, targets) in enumerate(self.train):
                parts = self.one_step(wave, targets)
                if i % 20 == 0:
                    print(epoch, i, " ".join(f"{k}={v:.3f}" for k, v in parts.items()), flush=True)
            print(f"epoch {epoch} {self.validate()} {self.seen} clips, {time.time() - t0:.1f}s", flush=True)
            torch.save(self.net.state_dict(), "plucknet.pt")


if __name__ == "__main__":
    Trainer(Config()).run()
