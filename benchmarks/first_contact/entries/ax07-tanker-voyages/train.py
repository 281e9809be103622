"""Next-hour displacement of tankers: GRU with a two-dimensional Gaussian head."""
import argparse
import logging
import math
import os
import time

import torch
from torch import nn

from voyages import Buckets, simulate

log = logging.getLogger("voyages")


class Navigator(nn.Module):
    def __init__(self, features, width, layers):
        super().__init__()
        self.gru = nn.GRU(features, width, layers)
        self.head = nn.Sequential(nn.Linear(width, width // 2), nn.SiLU(), nn.Linear(width // 2, 5))

    def forward(self, x):
        h, _ = self.gru(x)
        return self.head(h)


def negative_log_likelihood(out, target, mask):
    mean, log_scale, corr = out[..., :2], out[..., 2:4].clamp(-7.0, 3.0), 0.95 * torch.tanh(out[..., 4])
    z = (target - mean) * torch.exp(-log_scale)
    rest = 1 - corr * corr
    square = (z * z).sum(-1) - 2 * corr * z[..., 0] * z[..., 1]
    nll = 0.5 * square / rest + log_scale.sum(-1) + 0.5 * torch.log(rest) + math.log(2 * math.pi)
    return (nll * mask).sum() / mask.sum()


@torch.inference_mode()
def validate(model, batches):
    model.eval()
    losses = torch.stack([negative_log_likelihood(model(x), y, m) for x, y, m in batches])
    model.train()
    return losses.mean().item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--tracks", type=int, default=2500)
    p.add_argument("--epochs", type=int, default=24)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--width", type=int, default=160)
    p.add_argument("--layers", type=int, default=2)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--report", type=int, default=5)
    p.add_argument("--out", default="runs")
    args = p.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.manual_seed(23)

    tracks = simulate(args.tracks, seed=23)
    mean, std = torch.cat(tracks).mean(0), torch.cat(tracks).std(0)
    tracks = [(t - mean) / std for t in tracks]
    held = len(tracks) // 10
    train = Buckets(tracks[held:], args.batch, seed=1)
    valid = list(Buckets(tracks[:held], args.batch, seed=2))
    model = Navigator(tracks[0].shape[1], args.width, args.layers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs * len(train))
    os.makedirs(args.out, exist_ok=True)
    best = math.inf
    for epoch in range(args.epochs):
        began, running = time.perf_counter(), torch.zeros(())
        for step, (x, y, mask) in enumerate(train, 1):
            loss = negative_log_likelihood(model(x), y, mask)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            running += loss.detach()
            if step % args.report == 0:
                log.info("epoch %d step %d loss %.6f", epoch, step, running.item() / args.report)
                running.zero_()
        score = validate(model, valid)
        log.info("epoch %d: held out %.4f (%.1f s)", epoch, score, time.perf_counter() - began)
        if score < best:
            best = score
            torch.save({"model": model.state_dict(), "mean": mean, "std": std}, os.path.join(args.out, "navigator.pt"))


if __name__ == "__main__":
    main()
