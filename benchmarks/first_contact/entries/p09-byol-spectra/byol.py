import argparse
import copy
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Config:
    steps: int = 100
    batch: int = 32
    width: int = 32
    length: int = 256
    tau: float = 0.99
    lr: float = 3e-4


def augment(x):
    x = x * (1 + 0.2 * torch.randn(x.size(0), 1, 1))
    x = x + 0.05 * torch.randn_like(x)
    s = int(torch.randint(0, x.size(-1), (1,)))
    return x.roll(s, -1)


def encoder(w):
    return nn.Sequential(
        nn.Conv1d(1, w, 7, stride=2, padding=3), nn.BatchNorm1d(w), nn.ReLU(),
        nn.Conv1d(w, w * 2, 5, stride=2, padding=2), nn.BatchNorm1d(w * 2), nn.ReLU(),
        nn.Conv1d(w * 2, w * 4, 3, stride=2, padding=1), nn.BatchNorm1d(w * 4), nn.ReLU(),
        nn.AdaptiveAvgPool1d(1), nn.Flatten(),
        nn.Linear(w * 4, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, 128))


class BYOL(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.online = encoder(cfg.width)
        self.target = copy.deepcopy(self.online)
        self.predictor = nn.Sequential(nn.Linear(128, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, 128))
        self.tau = cfg.tau

    def loss(self, p, z):
        return 2 - 2 * (F.normalize(p, dim=-1) * F.normalize(z, dim=-1)).sum(-1)

    def forward(self, v1, v2):
        p1, p2 = self.predictor(self.online(v1)), self.predictor(self.online(v2))
        z1, z2 = self.target(v1), self.target(v2)
        return (self.loss(p1, z2) + self.loss(p2, z1)).mean()

    @torch.no_grad()
    def momentum_update(self):
        for po, pt in zip(self.online.parameters(), self.target.parameters()):
            pt.mul_(self.tau).add_(po, alpha=1 - self.tau)


def main():
    parser = argparse.ArgumentParser()
    for name, value in vars(Config()).items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    cfg = Config(**vars(parser.parse_args()))
    torch.manual_seed(0)
    spectra = torch.randn(2048, 1, cfg.length).cumsum(-1)
    spectra = (spectra - spectra.mean(-1, keepdim=True)) / spectra.std(-1, keepdim=True)
    model = BYOL(cfg)
    opt = torch.optim.AdamW([*model.online.parameters(), *model.predictor.parameters()], lr=cfg.lr)
    for step in range(cfg.steps):
        x = spectra[torch.randint(0, len(spectra), (cfg.batch,))]
        loss = model(augment(x), augment(x))
        opt.zero_grad()
        loss.backward()
        opt.step()
        model.momentum_update()
        if step % 25 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    torch.save(model.online.state_dict(), "/tmp/byol_online.pt")


if __name__ == "__main__":
    main()
