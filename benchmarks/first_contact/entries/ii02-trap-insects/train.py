"""Count pest insects on photographs of sticky traps: train the detector."""
import argparse
import csv
import random
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from traps.boxes import assign, make_anchors
from traps.data import TrapPhotos, collate
from traps.evaluate import mean_average_precision
from traps.model import TrapNet


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="data")
    parser.add_argument("--out", type=Path, default=Path("checkpoints"))
    parser.add_argument("--size", type=int, default=160)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--weight-decay", type=float, default=5e-4)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def detection_loss(logits, deltas, targets, wanted):
    positive = targets > 0
    n = positive.sum().clamp(min=1)
    loc = F.smooth_l1_loss(deltas[positive], wanted[positive], reduction="sum") / n
    ce = F.cross_entropy(logits.transpose(1, 2), targets, ignore_index=-1, reduction="none")
    negatives = ce.detach().masked_fill(targets != 0, -1.0).flatten()
    hard = negatives.topk(int(3 * n)).indices
    cls = (ce[positive].sum() + ce.flatten()[hard].sum()) / n
    return cls, loc


def train_one_epoch(model, loader, anchors, optimizer, epoch):
    model.train()
    total = 0.0
    for step, (images, boxes, labels) in enumerate(loader, 1):
        targets, wanted = zip(*[assign(b, l, anchors) for b, l in zip(boxes, labels)])
        logits, deltas = model(images)
        cls, loc = detection_loss(logits, deltas, torch.stack(targets), torch.stack(wanted))
        loss = cls + loc
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        total += loss.item()
        if step % 10 == 0:
            print(f"epoch {epoch} [{step}/{len(loader)}] cls {cls.item():.4f} loc {loc.item():.4f}", flush=True)
    return total / len(loader)


def main():
    args = parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    args.out.mkdir(exist_ok=True)

    train_set = TrapPhotos(args.data, "train", args.size, augment=True)
    val_set = TrapPhotos(args.data, "val", args.size)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, drop_last=True, collate_fn=collate)
    val_loader = DataLoader(val_set, batch_size=args.batch_size, collate_fn=collate)

    n_species = len(train_set.species)
    anchors = make_anchors(args.size)
    model = TrapNet(n_species)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum, weight_decay=args.weight_decay)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)

    best = -1.0
    with open(args.out / "log.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["epoch", "loss", "mAP50", "seconds"])
        for epoch in range(1, args.epochs + 1):
            start = time.time()
            loss = train_one_epoch(model, train_loader, anchors, optimizer, epoch)
            score = mean_average_precision(model, val_loader, anchors, n_species)
            scheduler.step()
            print(f"epoch {epoch}: loss {loss:.4f} mAP50 {score:.3f}", flush=True)
            writer.writerow([epoch, f"{loss:.5f}", f"{score:.4f}", f"{time.time() - start:.1f}"])
            if score > best:
                best = score
                torch.save(model.state_dict(), args.out / "best.pt")


if __name__ == "__main__":
    main()
