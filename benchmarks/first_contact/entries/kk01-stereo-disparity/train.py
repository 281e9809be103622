import argparse
import logging
import random
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from dataset import StereoFolder
from model import StereoNet
from transforms import train_transform, val_transform

log = logging.getLogger("stereo")


def parse_args():
    parser = argparse.ArgumentParser(description="Train a small stereo matching network")
    parser.add_argument("--data", default="data/stereo")
    parser.add_argument("--out", default="runs/stereo")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=2)
    parser.add_argument("--crop", type=int, nargs=2, default=(96, 160))
    parser.add_argument("--max-disp", type=int, default=48)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--print-every", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def errors(pred, target, max_disp):
    mask = (target > 0) & (target < max_disp)
    gap = (pred - target).abs()[mask]
    return gap.mean().item(), (gap > 3).float().mean().item()


def train_epoch(model, loader, optimizer, args, epoch):
    model.train()
    total = 0.0
    start = time.time()
    for step, batch in enumerate(loader, 1):
        optimizer.zero_grad()
        pred = model(batch["left"], batch["right"])
        mask = (batch["disp"] > 0) & (batch["disp"] < args.max_disp)
        loss = F.smooth_l1_loss(pred[mask], batch["disp"][mask])
        loss.backward()
        optimizer.step()
        total += loss.item()
        if step % args.print_every == 0:
            epe, bad3 = errors(pred.detach(), batch["disp"], args.max_disp)
            log.info("epoch %d step %d/%d loss %.4f epe %.3f bad3 %.3f  %.2f s", epoch, step, len(loader),
                     loss.item(), epe, bad3, time.time() - start)
    return total / len(loader)


@torch.no_grad()
def validate(model, loader, max_disp):
    model.eval()
    scores = [errors(model(b["left"], b["right"]), b["disp"], max_disp) for b in loader]
    return np.mean(scores, axis=0)


def main():
    args = parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)

    train_set = StereoFolder(args.data, "train", train_transform(*args.crop))
    val_set = StereoFolder(args.data, "val", val_transform())
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True, num_workers=args.workers, drop_last=True)
    val_loader = DataLoader(val_set, batch_size=1, num_workers=args.workers)

    model = StereoNet(args.max_disp)
    log.info("%d parameters, %d pairs", sum(p.numel() for p in model.parameters()), len(train_set))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, betas=(0.9, 0.999))
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [2, 4], gamma=0.5)
    best = float("inf")
    for epoch in range(1, args.epochs + 1):
        loss = train_epoch(model, train_loader, optimizer, args, epoch)
        scheduler.step()
        epe, bad3 = validate(model, val_loader, args.max_disp)
        log.info("epoch %d train loss %.4f  val epe %.3f bad3 %.3f", epoch, loss, epe, bad3)
        state = {"epoch": epoch, "model": model.state_dict(), "optimizer": optimizer.state_dict(), "epe": epe}
        torch.save(state, out / "last.pt")
        if epe < best:
            best = epe
            torch.save(state, out / "best.pt")


if __name__ == "__main__":
    main()
