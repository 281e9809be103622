"""Crestlines of dunes in elevation tiles."""
import argparse
import logging
import os
import time

import torch
from torch.nn import functional as F
from torch.utils.data import DataLoader

from crestnet import CrestNet
from dunes import DuneTiles

log = logging.getLogger("dunes")


class CrestLoss(torch.nn.Module):
    def __init__(self, positive=6.0, distance=0.3):
        super().__init__()
        self.positive, self.distance = positive, distance

    def forward(self, scores, distances, crest, target):
        crest_score, free_score = scores[:, 0], scores[:, 1]
        weight = torch.tensor([self.positive])
        cross = F.binary_cross_entropy_with_logits(crest_score, crest, pos_weight=weight)
        free = F.binary_cross_entropy_with_logits(free_score, 1 - crest)
        p = torch.sigmoid(crest_score)
        overlap = (p * crest).sum((1, 2))
        dice = 1 - (2 * overlap + 1) / (p.sum((1, 2)) + crest.sum((1, 2)) + 1)
        return cross + 0.5 * free + dice.mean() + self.distance * F.smooth_l1_loss(distances, target)


class Overlap:
    def __init__(self):
        self.both = self.either = 0

    @torch.no_grad()
    def add(self, scores, crest):
        found, true = scores[:, 0] > 0, crest > 0.5
        self.both += (found & true).sum().item()
        self.either += (found | true).sum().item()

    def value(self):
        return self.both / max(self.either, 1)


def evaluate(net, loader, criterion):
    net.eval()
    meter, total = Overlap(), 0.0
    with torch.no_grad():
        for picture, crest, distance in loader:
            scores, distances = net(picture)
            total += criterion(scores, distances, crest, distance).item() * len(picture)
            meter.add(scores, crest)
    net.train()
    return total / len(loader.dataset), meter.value()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tiles", type=int, default=240)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=16)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--save-dir", default="checkpoints")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.manual_seed(9)
    os.makedirs(args.save_dir, exist_ok=True)

    train_loader = DataLoader(DuneTiles(args.tiles, seed=10), batch_size=args.batch_size, shuffle=True, drop_last=True)
    valid_loader = DataLoader(DuneTiles(40, seed=11, augment=False), batch_size=args.batch_size)
    net, criterion = CrestNet(), CrestLoss()
    optimizer = torch.optim.AdamW(net.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)

    for epoch in range(args.epochs):
        start, meter, total = time.time(), Overlap(), 0.0
        for i, (picture, crest, distance) in enumerate(train_loader):
            scores, distances = net(picture)
            loss = criterion(scores, distances, crest, distance)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            meter.add(scores, crest)
            total += loss.item()
            if (i + 1) % 5 == 0:
                log.info("epoch %d [%d/%d] loss %.6f iou %.6f", epoch, i + 1, len(train_loader), total / (i + 1), meter.value())
        scheduler.step()
        valid_loss, iou = evaluate(net, valid_loader, criterion)
        log.info("epoch %d valid loss %.4f iou %.4f, %.1f s", epoch, valid_loss, iou, time.time() - start)
        torch.save({"epoch": epoch, "net": net.state_dict(), "iou": iou}, os.path.join(args.save_dir, "last.pt"))


if __name__ == "__main__":
    main()
