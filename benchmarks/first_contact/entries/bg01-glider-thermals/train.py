import argparse
import csv
import math
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from flights import CHANNELS, FlightTraces, instrument_noise
from net import ThermalNet


class Averaged:
    """Exponential average of the weights, used for validation."""

    def __init__(self, model, decay=0.995):
        self.decay = decay
        self.source = [p for p in model.parameters()]
        self.shadow = [p.detach().clone() for p in self.source]

    @torch.no_grad()
    def update(self):
        torch._foreach_lerp_(self.shadow, self.source, 1 - self.decay)

    @torch.no_grad()
    def swap(self):
        for s, p in zip(self.shadow, self.source):
            kept = p.clone()
            p.copy_(s)
            s.copy_(kept)


@torch.no_grad()
def validate(model, loader):
    model.eval()
    nll = hit = seen = 0
    for trace, target, mode in loader:
        mean, logits = model(trace)
        nll += model.nll(mean, target).item() * len(trace)
        hit += (logits.argmax(-1) == mode).float().mean().item() * len(trace)
        seen += len(trace)
    model.train()
    return nll / seen, hit / seen


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--flights", type=int, default=3072)
    ap.add_argument("--length", type=int, default=60)
    ap.add_argument("--batch", type=int, default=48)
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--lr", type=float, default=1.5e-3)
    ap.add_argument("--mode-weight", type=float, default=0.3)
    ap.add_argument("--out", type=Path, default=Path("runs"))
    ap.add_argument("--seed", type=int, default=5)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    args.out.mkdir(exist_ok=True)
    train = DataLoader(FlightTraces(args.flights, args.length, 1), args.batch, shuffle=True, drop_last=True)
    valid = DataLoader(FlightTraces(192, args.length, 2), 96)

    model = ThermalNet(len(CHANNELS), instrument_noise())
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4)
    steps = args.epochs * len(train)
    sched = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda s: min(1.0, (s + 1) / 50) * 0.5 * (1 + math.cos(math.pi * min(1.0, s / steps))))
    average = Averaged(model)

    with open(args.out / "steps.csv", "w", newline="") as f:
        log = csv.writer(f)
        log.writerow(["step", "loss", "nll", "mode", "grad"])
        step = 0
        for epoch in range(args.epochs):
            began = time.time()
            for trace, target, mode in train:
                mean, logits = model(trace)
                nll = model.nll(mean, target)
                ce = F.cross_entropy(logits.flatten(0, 1), mode.flatten())
                loss = nll + args.mode_weight * ce
                opt.zero_grad()
                loss.backward()
                grad = torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
                opt.step()
                sched.step()
                average.update()
                log.writerow([step, loss.item(), nll.item(), ce.item(), grad.item()])
                f.flush()
                step += 1
            average.swap()
            v_nll, v_hit = validate(model, valid)
            torch.save(model.state_dict(), args.out / "averaged.pt")
            average.swap()
            print(f"epoch {epoch:3d} loss {loss.item():.4f} val nll {v_nll:.4f} mode {v_hit:.3f} "
                  f"{time.time() - began:.1f}s", flush=True)


if __name__ == "__main__":
    main()
