"""Learns glacier surface displacement from pairs of satellite images."""
import argparse
import logging
import time
from pathlib import Path

import torch
from torch.utils.data import DataLoader

from model import FlowNet
from scenes import GlacierPairs

log = logging.getLogger("glacier")


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="data")
    p.add_argument("--out", default="runs")
    p.add_argument("--epochs", type=int, default=60)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--lr", type=float, default=4e-4)
    p.add_argument("--smooth", type=float, default=0.05)
    p.add_argument("--log-every", type=int, default=10)
    p.add_argument("--seed", type=int, default=3)
    return p.parse_args()


def endpoint_error(pred, target):
    return (pred - target).pow(2).sum(dim=1).add(1e-6).sqrt().mean()


def smoothness(flow):
    dx = (flow[..., :, 1:] - flow[..., :, :-1]).abs().mean()
    dy = (flow[..., 1:, :] - flow[..., :-1, :]).abs().mean()
    return dx + dy


@torch.no_grad()
def validate(model, loader):
    model.eval()
    total, count = 0.0, 0
    for first, second, flow in loader:
        pred = model(first, second)
        total += endpoint_error(pred, flow).item() * len(first)
        count += len(first)
    model.train()
    return total / count


def main():
    args = get_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.manual_seed(args.seed)
    out = Path(args.out)
    out.mkdir(exist_ok=True)

    train_set = GlacierPairs(args.data, "train")
    val_set = GlacierPairs(args.data, "val", crops_per_scene=8)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(val_set, batch_size=args.batch_size)

    model = FlowNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4)
    steps = args.epochs * len(train_loader)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=args.lr * 3, total_steps=steps)
    log.info("%d train crops, %d val crops", len(train_set), len(val_set))

    best = float("inf")
    for epoch in range(args.epochs):
        start, running = time.time(), 0.0
        for i, (first, second, flow) in enumerate(train_loader):
            pred = model(first, second)
            epe = endpoint_error(pred, flow)
            loss = epe + args.smooth * smoothness(pred)

            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            scheduler.step()

            running += epe.item()
            if (i + 1) % args.log_every == 0:
                log.info("epoch %d step %d/%d epe %.3f", epoch, i + 1, len(train_loader), running / (i + 1))

        val = validate(model, val_loader)
        log.info("epoch %d val epe %.3f (%.1f s)", epoch, val, time.time() - start)
        if val < best:
            best = val
            torch.save({"model": model.state_dict(), "epoch": epoch, "val": val}, out / "best.pt")


if __name__ == "__main__":
    main()
