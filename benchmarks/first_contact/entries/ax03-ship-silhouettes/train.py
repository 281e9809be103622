"""Ship types from silhouettes: a small residual net."""
import argparse
import logging
import os
import time

import torch
from torch.nn import functional as F
from torch.utils.data import DataLoader

from net import ShipNet
from shards import Silhouettes, as_is

log = logging.getLogger("ships")
FORMAT = torch.channels_last


def to_input(pictures):
    return pictures.to(torch.float32).sub_(110.0).div_(55.0).contiguous(memory_format=FORMAT)


@torch.inference_mode()
def validate(model, loader):
    model.eval()
    right = torch.zeros((), dtype=torch.long)
    for pictures, kinds in loader:
        right += (model(to_input(pictures)).argmax(1) == kinds).sum()
    model.train()
    return right.item() / len(loader.dataset)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="data")
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--lr", type=float, default=0.1)
    p.add_argument("--report", type=int, default=20)
    p.add_argument("--out", default="runs")
    args = p.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.manual_seed(17)

    train = Silhouettes(args.data, "train", augment=True, seed=17)
    valid = Silhouettes(args.data, "valid", augment=False)
    loader = DataLoader(train, args.batch, shuffle=True, drop_last=True, collate_fn=as_is)
    valid_loader = DataLoader(valid, 4 * args.batch, collate_fn=as_is)
    model = ShipNet(10).to(memory_format=FORMAT)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4, nesterov=True, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.epochs * len(loader), pct_start=0.2)
    os.makedirs(args.out, exist_ok=True)
    best = 0.0
    for epoch in range(args.epochs):
        began, running = time.perf_counter(), torch.zeros(())
        for step, (pictures, kinds) in enumerate(loader, 1):
            loss = F.cross_entropy(model(to_input(pictures)), kinds, label_smoothing=0.05)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            schedule.step()
            running += loss.detach()
            if step % args.report == 0:
                log.info("epoch %d step %d loss %.6f", epoch, step, running.item() / args.report)
                running.zero_()
        accuracy = validate(model, valid_loader)
        log.info("epoch %d: accuracy %.4f (%.1f s)", epoch, accuracy, time.perf_counter() - began)
        if accuracy > best:
            best = accuracy
            torch.save({"model": model.state_dict(), "accuracy": accuracy}, os.path.join(args.out, "best.pt"))


if __name__ == "__main__":
    main()
