import argparse
import logging
import random
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader

from reid.data import IdentitySampler, PersonCrops
from reid.evaluate import evaluate
from reid.losses import BatchHardTriplet
from reid.model import StrongBaseline
from reid.transforms import test_transform, train_transform


def parse_args():
    p = argparse.ArgumentParser(description="Person re-identification, strong baseline")
    p.add_argument("--root", type=Path, default=Path("data/crops"))
    p.add_argument("--out", type=Path, default=Path("runs/reid"))
    p.add_argument("--height", type=int, default=128)
    p.add_argument("--width", type=int, default=64)
    p.add_argument("--people", type=int, default=12)
    p.add_argument("--per-person", type=int, default=4)
    p.add_argument("--epochs", type=int, default=12)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--warmup-epochs", type=int, default=2)
    p.add_argument("--margin", type=float, default=0.3)
    p.add_argument("--triplet-weight", type=float, default=1.0)
    p.add_argument("--eval-every", type=int, default=4)
    p.add_argument("--log-every", type=int, default=10)
    p.add_argument("--seed", type=int, default=1)
    return p.parse_args()


def setup(args):
    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    args.out.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s",
                        handlers=[logging.StreamHandler(), logging.FileHandler(args.out / "train.log", mode="w")])
    return logging.getLogger("reid")


def build_loaders(args):
    train = PersonCrops(args.root / "train", train_transform(args.height, args.width), relabel=True)
    query = PersonCrops(args.root / "query", test_transform(args.height, args.width))
    gallery = PersonCrops(args.root / "gallery", test_transform(args.height, args.width))
    sampler = IdentitySampler(train.items, args.people, args.per_person)
    batch = args.people * args.per_person
    return (
        train,
        DataLoader(train, batch, sampler=sampler, drop_last=True),
        DataLoader(query, 64),
        DataLoader(gallery, 64),
    )


class Meter:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def update(self, value, n=1):
        self.total += value * n
        self.count += n

    @property
    def mean(self):
        return self.total / max(1, self.count)


def train_epoch(model, loader, identity_loss, triplet_loss, optimizer, args, log, epoch):
    losses, hits = Meter(), Meter()
    end = time.time()
    for step, (images, pids, _) in enumerate(loader, 1):
        logits, features = model(images)
        ce = identity_loss(logits, pids)
        tri, dist_ap, dist_an = triplet_loss(features, pids)
        loss = ce + args.triplet_weight * tri
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.update(loss.item(), len(pids))
        hits.update((logits.argmax(1) == pids).float().mean().item(), len(pids))
        if step % args.log_every == 0:
            log.info("epoch %d [%d/%d] loss %.4f ce %.4f tri %.4f ap %.3f an %.3f acc %.3f %.0f ms",
                     epoch, step, len(loader), losses.mean, ce.item(), tri.item(), dist_ap.mean().item(),
                     dist_an.mean().item(), hits.mean, (time.time() - end) * 1000 / step)


def main():
    args = parse_args()
    log = setup(args)
    train, train_loader, query_loader, gallery_loader = build_loaders(args)
    model = StrongBaseline(train.identities).train()
    log.info("%d crops of %d people, %d parameters", len(train), train.identities,
             sum(p.numel() for p in model.parameters()))
    identity_loss = nn.CrossEntropyLoss(label_smoothing=0.1)
    triplet_loss = BatchHardTriplet(args.margin)
    decay = [p for p in model.parameters() if p.requires_grad and p.ndim > 1]
    plain = [p for p in model.parameters() if p.requires_grad and p.ndim <= 1]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 5e-4}, {"params": plain, "weight_decay": 0.0}], lr=args.lr)
    scheduler = torch.optim.lr_scheduler.SequentialLR(
        optimizer,
        [torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, args.warmup_epochs),
         torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs - args.warmup_epochs)],
        [args.warmup_epochs],
    )
    best, start = 0.0, time.time()
    for epoch in range(1, args.epochs + 1):
        train_epoch(model, train_loader, identity_loss, triplet_loss, optimizer, args, log, epoch)
        scheduler.step()
        if epoch % args.eval_every == 0 or epoch == args.epochs:
            cmc, mean_ap = evaluate(model, query_loader, gallery_loader)
            log.info("epoch %d mAP %.4f rank-1 %.4f rank-5 %.4f", epoch, mean_ap, cmc[0], cmc[4])
            if mean_ap > best:
                best = mean_ap
                torch.save({"model": model.state_dict(), "epoch": epoch, "mAP": mean_ap}, args.out / "best.pt")
    log.info("best mAP %.4f, %.1f s", best, time.time() - start)


if __name__ == "__main__":
    main()
