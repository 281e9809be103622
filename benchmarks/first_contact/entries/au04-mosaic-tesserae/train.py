"""Names the stone of every tessera on a floor (19 kinds and the mortar)."""
import random
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

from floors import STONES, floors


class Conf:
    size = 48
    batch = 8
    epochs = 12
    lr = 2e-3
    dice = 0.5
    width = 10
    clip = 1.0


def double(c, d):
    return nn.Sequential(
        nn.Conv2d(c, d, 3, padding=1, bias=False), nn.BatchNorm2d(d), nn.ReLU(inplace=True),
        nn.Conv2d(d, d, 3, padding=1, bias=False), nn.BatchNorm2d(d), nn.ReLU(inplace=True),
    )


class FloorNet(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a, self.b, self.c = double(3, width), double(width, 2 * width), double(2 * width, 4 * width)
        self.up_b, self.up_a = double(6 * width, 2 * width), double(3 * width, width)
        self.out = nn.Conv2d(width, STONES, 1)

    def forward(self, x):
        a = self.a(x)
        b = self.b(F.max_pool2d(a, 2))
        c = self.c(F.max_pool2d(b, 2))
        b = self.up_b(torch.cat([F.interpolate(c, scale_factor=2), b], 1))
        a = self.up_a(torch.cat([F.interpolate(b, scale_factor=2), a], 1))
        return self.out(a)


def dice_loss(logits, target, eps=1.0):
    prob = logits.softmax(1)
    loss = 0.0
    for k in range(STONES):
        p = prob[:, k]
        t = (target == k).float()
        inter = (p * t).sum()
        loss = loss + 1 - (2 * inter + eps) / (p.sum() + t.sum() + eps)
    return loss / STONES


def turn(pictures, labels):
    k = random.randrange(4)
    pictures, labels = torch.rot90(pictures, k, (2, 3)), torch.rot90(labels, k, (1, 2))
    if random.random() < 0.5:
        pictures, labels = pictures.flip(3), labels.flip(2)
    return pictures.contiguous(), labels.contiguous()


def accuracy(net, pictures, labels):
    net.eval()
    with torch.no_grad():
        right = (net(pictures).argmax(1) == labels).float().mean().item()
    net.train()
    return right


def main():
    torch.manual_seed(0)
    random.seed(0)
    conf = Conf()
    pictures, labels = floors(480, conf.size, seed=1)
    held = floors(48, conf.size, seed=2)
    net = FloorNet(conf.width)
    opt = torch.optim.AdamW(net.parameters(), lr=conf.lr, weight_decay=1e-2, fused=True)
    steps = len(pictures) // conf.batch
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, conf.lr, epochs=conf.epochs, steps_per_epoch=steps)
    best = 0.0
    for epoch in range(conf.epochs):
        t0 = time.time()
        sums = {"loss": 0.0, "acc": 0.0}
        order = torch.randperm(len(pictures))
        for s in range(steps):
            rows = order[s * conf.batch : (s + 1) * conf.batch]
            x, y = turn(pictures[rows], labels[rows])
            logits = net(x)
            loss = F.cross_entropy(logits, y) + conf.dice * dice_loss(logits, y)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), conf.clip)
            opt.step()
            sched.step()
            sums["loss"] += loss.item()
            sums["acc"] += accuracy(net, x, y)
        score = accuracy(net, *held)
        if score > best:
            best = score
            torch.save({"epoch": epoch, "model": net.state_dict()}, "floors.pt")
        print(f"{epoch:02d} loss {sums['loss'] / steps:.3f} acc {sums['acc'] / steps:.3f} held {score:.3f} ({time.time() - t0:.1f} s)")


if __name__ == "__main__":
    main()
