import argparse
import logging
import os
import time

import torch
from torch import nn
from torch.utils.data import DataLoader

from dataset import CrowdDataset
from model import CrowdNet
from utils import AverageMeter, History, save_checkpoint

log = logging.getLogger("crowd")


def parse_args():
    p = argparse.ArgumentParser(description="Crowd counting by density regression")
    p.add_argument("--data", default="data")
    p.add_argument("--out", default="runs")
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--crop", type=int, default=128)
    p.add_argument("--scale", type=float, default=100.0, help="factor on the density for the loss")
    p.add_argument("--lr", type=float, default=3e-4)
    p.add_argument("--weight-decay", type=float, default=1e-4)
    p.add_argument("--workers", type=int, default=0)
    p.add_argument("--print-freq", type=int, default=10)
    p.add_argument("--eval-every", type=int, default=2)
    p.add_argument("--seed", type=int, default=7)
    return p.parse_args()


def train_epoch(model, loader, criterion, optimizer, epoch, args):
    model.train()
    losses, counts = AverageMeter(), AverageMeter()
    start = time.time()
    for step, (images, targets, _) in enumerate(loader):
        predictions = model(images)
        loss = criterion(predictions, targets * args.scale)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.update(loss.item(), len(images))
        with torch.no_grad():
            error = (predictions.sum(dim=(1, 2, 3)) / args.scale - targets.sum(dim=(1, 2, 3))).abs().mean()
        counts.update(error.item(), len(images))
        if (step + 1) % args.print_freq == 0:
            log.info(
                "epoch %d [%d/%d] loss %.5f crop MAE %.3f (%.1f img/s)",
                epoch, step + 1, len(loader), losses.avg, counts.avg, losses.count / (time.time() - start),
            )
    return losses.avg


@torch.no_grad()
def validate(model, loader, args):
    model.eval()
    absolute, squared = AverageMeter(), AverageMeter()
    for images, _, number in loader:
        count = model(images).sum().item() / args.scale
        error = count - number.item()
        absolute.update(abs(error))
        squared.update(error**2)
    return absolute.avg, squared.avg**0.5


def main():
    args = parse_args()
    os.makedirs(args.out, exist_ok=True)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    torch.manual_seed(args.seed)

    train_set = CrowdDataset(args.data, "train", crop=args.crop, seed=args.seed)
    val_set = CrowdDataset(args.data, "val")
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, num_workers=args.workers, drop_last=True)
    val_loader = DataLoader(val_set, batch_size=1, num_workers=args.workers)

    model = CrowdNet()
    criterion = nn.MSELoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=args.weight_decay)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
    history = History(os.path.join(args.out, "history.json"))
    log.info("%d training images, %.2fM parameters", len(train_set), sum(p.numel() for p in model.parameters()) / 1e6)

    best = float("inf")
    for epoch in range(1, args.epochs + 1):
        loss = train_epoch(model, train_loader, criterion, optimizer, epoch, args)
        scheduler.step()
        row = {"epoch": epoch, "loss": loss}
        if epoch % args.eval_every == 0 or epoch == args.epochs:
            mae, rmse = validate(model, val_loader, args)
            row.update(mae=mae, rmse=rmse)
            log.info("epoch %d val MAE %.2f RMSE %.2f", epoch, mae, rmse)
            if mae < best:
                best = mae
                save_checkpoint(os.path.join(args.out, "best.pt"), model, optimizer, epoch, best)
        history.add(**row)
    save_checkpoint(os.path.join(args.out, "last.pt"), model, optimizer, args.epochs, best)


if __name__ == "__main__":
    main()
