"""Multi-sensor forecasting: conv encoder + attention pooling over time."""
import argparse
import math

import torch
from torch import nn, Tensor
from torch.utils.data import DataLoader, Dataset


class Sensors(Dataset):
    def __init__(self, n_series: int, length: int, window: int, horizon: int):
        t = torch.arange(length, dtype=torch.float32)
        ph = torch.rand(n_series, 1) * 6.28
        self.x = torch.sin(t / 12 + ph) + 0.5 * torch.sin(t / 84 + 2 * ph) + 0.1 * torch.randn(n_series, length)
        self.window, self.horizon = window, horizon

    def __len__(self):
        return self.x.shape[1] - self.window - self.horizon

    def __getitem__(self, i):
        j = i + self.window
        return self.x[:, i:j].t(), self.x[:, j:j + self.horizon]


class AttentionPool(nn.Module):
    def __init__(self, d: int, hidden: int):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(d, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, h: Tensor) -> Tensor:
        scores = []
        for t in range(h.size(1)):
            scores.append(self.score(h[:, t]))
        w = torch.softmax(torch.cat(scores, dim=1), dim=1)
        return (w.unsqueeze(-1) * h).sum(1)


class Forecaster(nn.Module):
    def __init__(self, c: int, d: int, horizon: int, levels: int = 3):
        super().__init__()
        self.inp = nn.Conv1d(c, d, 1)
        self.tcn = nn.ModuleList(nn.Conv1d(d, d, 3, padding=2 ** i, dilation=2 ** i) for i in range(levels))
        self.pool = AttentionPool(d, 32)
        self.head = nn.Linear(d, c * horizon)
        self.c, self.horizon = c, horizon

    def forward(self, x: Tensor) -> Tensor:
        h = self.inp(x.transpose(1, 2))
        for conv in self.tcn:
            h = h + torch.relu(conv(h))
        return self.head(self.pool(h.transpose(1, 2))).view(-1, self.c, self.horizon)


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=150)
    p.add_argument("--batch-size", type=int, default=48)
    p.add_argument("--window", type=int, default=96)
    p.add_argument("--horizon", type=int, default=12)
    a = p.parse_args()
    torch.manual_seed(0)
    ds = Sensors(8, 6000, a.window, a.horizon)
    dl = DataLoader(ds, a.batch_size, shuffle=True, drop_last=True)
    model = Forecaster(8, 80, a.horizon)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: 0.5 * (1 + math.cos(math.pi * min(1, s / a.steps))))
    step = 0
    while step < a.steps:
        for x, y in dl:
            loss = nn.functional.huber_loss(model(x), y)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            sched.step()
            step += 1
            if step % 25 == 0:
                print(f"{step:5d}  loss {loss.item():.4f}  lr {sched.get_last_lr()[0]:.2e}")
            if step >= a.steps:
                break


if __name__ == "__main__":
    main()
