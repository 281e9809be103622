import argparse
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter

from unet.dataset import CellTiles
from unet.metrics import SegmentationMeter
from unet.model import UNet

CLASSES = 3


def weighted_loss(logits, target, weights):
    pixel = F.cross_entropy(logits, target, reduction="none")
    ce = (pixel * weights).sum() / weights.sum()
    probability = logits.softmax(dim=1)
    onehot = F.one_hot(target, CLASSES).permute(0, 3, 1, 2).float()
    overlap = (probability * onehot).sum(dim=(0, 2, 3))
    dice = 1 - (2 * overlap + 1) / (probability.sum(dim=(0, 2, 3)) + onehot.sum(dim=(0, 2, 3)) + 1)
    return ce + 0.5 * dice.mean()


@torch.no_grad()
def validate(model, loader):
    model.eval()
    meter, total = SegmentationMeter(CLASSES), 0.0
    for images, target, weights in loader:
        logits = model(images)
        total += weighted_loss(logits, target, weights).item()
        meter.update(logits, target)
    return total / len(loader), meter.compute()


def main():
    parser = argparse.ArgumentParser(description="U-Net for cell segmentation")
    parser.add_argument("--data", default="data")
    parser.add_argument("--epochs", type=int, default=9)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--base", type=int, default=8)
    parser.add_argument("--logdir", default="runs")
    parser.add_argument("--seed", type=int, default=5)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    train_set = CellTiles(f"{args.data}/train", augment=True, seed=args.seed)
    val_set = CellTiles(f"{args.data}/val")
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(val_set, args.batch_size)

    model = UNet(classes=CLASSES, base=args.base)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)
    writer = SummaryWriter(args.logdir)
    meter = SegmentationMeter(CLASSES)

    best, step = 0.0, 0
    for epoch in range(args.epochs):
        model.train()
        meter.reset()
        for images, target, weights in train_loader:
            logits = model(images)
            loss = weighted_loss(logits, target, weights)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            meter.update(logits.detach(), target)
            writer.add_scalar("train/loss", loss.item(), step)
            step += 1
        scheduler.step()
        scores = meter.compute()
        val_loss, val_scores = validate(model, val_loader)
        for name in scores:
            writer.add_scalar(f"train/{name}", scores[name], epoch)
            writer.add_scalar(f"val/{name}", val_scores[name], epoch)
        print(f"epoch {epoch + 1}: loss {loss.item():.5f} miou {scores['miou']:.4f}  "
              f"val loss {val_loss:.5f} miou {val_scores['miou']:.4f} dice {val_scores['dice']:.4f}", flush=True)
        if val_scores["miou"] > best:
            best = val_scores["miou"]
            torch.save(model.state_dict(), Path(args.logdir) / "best.pt")
    writer.close()


if __name__ == "__main__":
    main()
