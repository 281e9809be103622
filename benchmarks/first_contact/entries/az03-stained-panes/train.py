"""Finds lead cames and painted detail in photographs of stained glass."""
import argparse
import logging
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

from panenet import UNet

log = logging.getLogger("panes")
CLASSES = 3


class Panes:
    def __init__(self, folder, rows):
        self.pictures = torch.from_numpy(np.load(folder / "pictures.npy")[rows])
        self.labels = torch.from_numpy(np.load(folder / "labels.npy")[rows])

    def __len__(self):
        return len(self.labels)

    def take(self, rows):
        x = self.pictures[rows].permute(0, 3, 1, 2)
        return x.float().sub_(127.5).div_(64), self.labels[rows].long()

    def shuffled(self, size):
        for rows in torch.randperm(len(self)).split(size):
            if len(rows) == size:
                x, y = self.take(rows)
                turn = int(torch.randint(4, ()))
                if turn & 1:
                    x, y = x.flip(3), y.flip(2)
                if turn & 2:
                    x, y = x.flip(2), y.flip(1)
                yield x, y


def loss_fn(logits, y, weight):
    flat = logits.permute(0, 2, 3, 1).reshape(-1, CLASSES)
    return F.cross_entropy(flat, y.reshape(-1), weight=weight)


@torch.inference_mode()
def evaluate(model, panes, size):
    model.eval()
    table = torch.zeros(CLASSES * CLASSES, dtype=torch.long)
    for rows in torch.arange(len(panes)).split(size):
        x, y = panes.take(rows)
        guess = model(x).argmax(1)
        table += torch.bincount((y * CLASSES + guess).flatten(), minlength=CLASSES * CLASSES)
    model.train()
    table = table.view(CLASSES, CLASSES).double()
    hit = table.diagonal()
    return (hit / (table.sum(0) + table.sum(1) - hit)).tolist()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", type=pathlib.Path, default=".")
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--base", type=int, default=16)
    p.add_argument("--lr", type=float, default=3e-3)
    args = p.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.manual_seed(12)

    train, held = Panes(args.data, slice(0, 800)), Panes(args.data, slice(800, None))
    share = torch.bincount(train.labels.flatten().int(), minlength=CLASSES).float()
    weight = (share.sum() / share).sqrt()
    weight /= weight.mean()
    model = UNet(CLASSES, args.base).to(memory_format=torch.channels_last)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, fused=True)
    steps = args.epochs * (len(train) // args.batch)
    plan = torch.optim.lr_scheduler.CosineAnnealingLR(opt, steps)
    best, step = 0.0, 0
    for epoch in range(args.epochs):
        for x, y in train.shuffled(args.batch):
            loss = loss_fn(model(x), y, weight)
            opt.zero_grad()
            loss.backward()
            opt.step()
            plan.step()
            step += 1
            if step % 20 == 0:
                log.info("step %d loss %.4f", step, loss.item())
        iou = evaluate(model, held, args.batch)
        log.info("epoch %d  IoU %s", epoch, " ".join(f"{v:.3f}" for v in iou))
        if sum(iou) > best:
            best = sum(iou)
            torch.save(model.state_dict(), "panenet.pt")


if __name__ == "__main__":
    main()
