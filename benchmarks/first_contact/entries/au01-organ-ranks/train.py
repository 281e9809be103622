"""Which rank of the organ does a pipe belong to? Log-mel patches of random stretches, a small convolutional net."""
import argparse
import copy
import math
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

from pipes import RANKS, RATE, notes, rooms

cli = argparse.ArgumentParser()
cli.add_argument("--epochs", type=int, default=24)
cli.add_argument("--batch", type=int, default=24)
cli.add_argument("--stretch", type=int, default=4096)
cli.add_argument("--lr", type=float, default=2e-3)
cli.add_argument("--ema", type=float, default=0.995)
opt = cli.parse_args()


class Mel(nn.Module):
    def __init__(self, n_fft=512, hop=128, bands=48):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        edges = torch.linspace(math.log(50), math.log(RATE / 2), bands + 2).exp()
        f = torch.linspace(0, RATE / 2, n_fft // 2 + 1)
        up = (f[:, None] - edges[None, :-2]) / (edges[1:-1] - edges[:-2])
        down = (edges[None, 2:] - f[:, None]) / (edges[2:] - edges[1:-1])
        self.register_buffer("bank", torch.minimum(up, down).clamp(min=0).t().contiguous())
        self.register_buffer("window", torch.hann_window(n_fft))

    @torch.no_grad()
    def forward(self, wave):
        spec = torch.stft(wave, self.n_fft, self.hop, window=self.window, return_complex=True)
        return torch.log(self.bank @ spec.abs().square() + 1e-5)


class RankNet(nn.Module):
    def __init__(self, classes, width=16):
        super().__init__()
        layers, c = [], 1
        for k in range(3):
            d = width * 2**k
            layers += [nn.Conv2d(c, d, 3, padding=1, bias=False), nn.BatchNorm2d(d), nn.ReLU(inplace=True), nn.MaxPool2d(2)]
            c = d
        self.body = nn.Sequential(*layers)
        self.head = nn.Sequential(nn.Dropout(0.2), nn.Linear(c, classes))

    def forward(self, patch):
        return self.head(self.body(patch[:, None]).mean((2, 3)))


def through_rooms(wave, taps):
    """convolve each wave with the response of a room of its own"""
    n = wave.shape[1] + taps.shape[1] - 1
    n = 1 << (n - 1).bit_length()
    wet = torch.fft.irfft(torch.fft.rfft(wave, n) * torch.fft.rfft(taps, n), n)
    return wet[:, : wave.shape[1]]


@torch.no_grad()
def check(net, mel, waves, labels):
    net.eval()
    table = torch.zeros(len(RANKS) ** 2, dtype=torch.long)
    for a in range(0, len(waves), 128):
        guess = net(mel(waves[a : a + 128, : opt.stretch])).argmax(1)
        table += torch.bincount(labels[a : a + 128] * len(RANKS) + guess, minlength=len(RANKS) ** 2)
    net.train()
    table = table.view(len(RANKS), -1)
    return (table.diag().sum() / table.sum()).item(), (table.diag() / table.sum(1).clamp(min=1)).min().item()


torch.manual_seed(0)
waves, labels = notes(1920, seed=1)
held, held_labels = notes(256, seed=2)
halls = rooms()
mel, net = Mel(), RankNet(len(RANKS)).to(memory_format=torch.channels_last)
slow = copy.deepcopy(net).eval().requires_grad_(False)
pairs = list(net.parameters()), list(slow.parameters())
opti = torch.optim.AdamW(net.parameters(), lr=opt.lr, weight_decay=0.02, fused=True)
steps = len(waves) // opt.batch
plan = torch.optim.lr_scheduler.OneCycleLR(opti, opt.lr, total_steps=steps * opt.epochs)
best, span = 0.0, torch.arange(opt.stretch)

for epoch in range(opt.epochs):
    began, total = time.time(), 0.0
    for rows in torch.randperm(len(waves)).split(opt.batch):
        begin = torch.randint(0, waves.shape[1] - opt.stretch, (len(rows), 1))
        wave = waves[rows[:, None], begin + span]
        wave = through_rooms(wave, halls[torch.randint(len(halls), (len(rows),))])
        wave = wave + torch.rand(len(rows), 1) * 0.05 * torch.randn_like(wave)
        logits = net(mel(wave))
        loss = F.cross_entropy(logits, labels[rows], label_smoothing=0.05)
        opti.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 2.0)
        opti.step()
        plan.step()
        with torch.no_grad():
            torch._foreach_lerp_(pairs[1], pairs[0], 1 - opt.ema)
        total += loss.item()
    for a, b in zip(slow.buffers(), net.buffers()):
        a.copy_(b)
    right, worst = check(slow, mel, held, held_labels)
    if right > best:
        best = right
        torch.save(slow.state_dict(), "ranks.pt")
    print(f"{epoch:3d} loss {total / steps:.4f} right {right:.3f} worst rank {worst:.2f} {time.time() - began:.1f} s")
