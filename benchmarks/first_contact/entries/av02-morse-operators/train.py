"""Who is at the key?  Tell telegraph operators apart by their 'fist': the timing of marks and spaces."""
import argparse
import logging
import math
import os

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations
from torch.utils.data import DataLoader, TensorDataset

log = logging.getLogger("fist")
torch.set_printoptions(precision=3, linewidth=180, threshold=4000, sci_mode=False)


def key_log(operators, sends, marks, seed):
    """(sends, marks, 6) features for each mark: mark, space, their ratio, drift, dash flag, speed."""
    g = torch.Generator().manual_seed(seed)
    who = torch.randint(operators, (sends,), generator=g)
    speed = 0.06 + 0.02 * torch.rand(operators, generator=g)
    weight = 2.6 + torch.rand(operators, generator=g)
    swing = 0.15 * torch.randn(operators, 8, generator=g)
    dash = (torch.rand(sends, marks, generator=g) < 0.45).float()
    phase = torch.arange(marks) % 8
    mark = speed[who][:, None] * (1 + dash * (weight[who][:, None] - 1))
    mark = mark * (1 + swing[who][:, phase]) * (1 + 0.08 * torch.randn(sends, marks, generator=g))
    space = speed[who][:, None] * (1 - 0.5 * swing[who][:, phase.flip(0)]) * (1 + 0.1 * torch.randn(sends, marks, generator=g))
    drift = torch.cumsum(mark - mark.mean(1, keepdim=True), 1)
    x = torch.stack([mark, space, mark / space, drift, dash, mark.mean(1, keepdim=True).expand_as(mark)], 2)
    x = (x - x.mean((0, 1))) / x.std((0, 1))
    return x, who


class NormKeepingCell(nn.Module):
    """h' = modrelu(Q h + u) with Q orthogonal."""

    def __init__(self, width):
        super().__init__()
        self.turn = parametrizations.orthogonal(nn.Linear(width, width, bias=False))
        self.bias = nn.Parameter(torch.full((width,), -0.01))

    def forward(self, h, u):
        z = self.turn(h) + u
        return torch.sign(z) * F.relu(z.abs() + self.bias)


class FistNet(nn.Module):
    def __init__(self, operators, width, stem):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv1d(6, stem, 5, padding=2), nn.GELU(),
            nn.Conv1d(stem, stem, 5, padding=2), nn.GELU(),
            nn.Conv1d(stem, stem, 5, stride=2, padding=2), nn.GELU(),
        )
        self.inp = nn.Linear(stem, width)
        self.cell = NormKeepingCell(width)
        self.read = nn.Linear(width, operators)

    def forward(self, x):
        u = self.inp(self.stem(x.transpose(1, 2)).transpose(1, 2))
        h = u.new_zeros(u.shape[0], u.shape[2])
        for t in range(u.shape[1]):
            h = self.cell(h, u[:, t])
        return self.read(h), h


def accuracy(model, loader):
    model.eval()
    right = total = 0
    with torch.no_grad():
        for x, y in loader:
            logits, _ = model(x)
            right += (logits.argmax(1) == y).sum().item()
            total += len(y)
    model.train()
    return right / total


def fit(args):
    x, y = key_log(args.operators, args.sends, args.marks, args.seed)
    held = args.sends // 10
    train = DataLoader(TensorDataset(x[held:], y[held:]), batch_size=args.batch, shuffle=True, drop_last=True)
    test = DataLoader(TensorDataset(x[:held], y[:held]), batch_size=256)
    model = FistNet(args.operators, args.width, args.stem)
    opt = torch.optim.RMSprop(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, args.lr * 4, total_steps=args.epochs * len(train))
    step, best = 0, 0.0
    for epoch in range(args.epochs):
        for xb, yb in train:
            logits, state = model(xb)
            loss = F.cross_entropy(logits, yb, label_smoothing=0.05)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            step += 1
            log.debug(f"step {step} norm {norm:.3f} state {state.norm(dim=1)} logits {logits}")
            if step % 20 == 0:
                log.info("step %d loss %.4f lr %.2e", step, loss.item(), sched.get_last_lr()[0])
        acc = accuracy(model, test)
        log.info("epoch %d accuracy %.3f", epoch, acc)
        if acc > best:
            best = acc
            torch.save({"model": model.state_dict(), "acc": acc}, os.path.join(args.out, "best.pt"))


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--operators", type=int, default=40)
    ap.add_argument("--sends", type=int, default=4000)
    ap.add_argument("--marks", type=int, default=64)
    ap.add_argument("--width", type=int, default=64)
    ap.add_argument("--stem", type=int, default=96)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--epochs", type=int, default=24)
    ap.add_argument("--lr", type=float, default=5e-4)
    ap.add_argument("--seed", type=int, default=11)
    ap.add_argument("--out", default="out")
    ap.add_argument("--verbose", action="store_true")
    a = ap.parse_args()
    logging.basicConfig(level=logging.DEBUG if a.verbose else logging.INFO, format="%(asctime)s %(message)s")
    torch.manual_seed(a.seed)
    os.makedirs(a.out, exist_ok=True)
    fit(a)
