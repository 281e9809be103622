import argparse
import logging
import os
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("kd")


def blobs(n, dim=3 * 16 * 16, classes=10, seed=0):
    g = torch.Generator().manual_seed(seed)
    proto = torch.randn(classes, 3, 16, 16, generator=g)
    proto = F.avg_pool2d(proto, 3, 1, 1) * 2
    y = torch.randint(0, classes, (n,), generator=g)
    x = proto[y] + torch.randn(n, 3, 16, 16, generator=g)
    return TensorDataset(x, y)


def conv_bn(i, o, s=1):
    return nn.Sequential(nn.Conv2d(i, o, 3, s, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


def make_net(width, classes=10, depth=2):
    layers = [conv_bn(3, width)]
    for k in range(2):
        layers.append(conv_bn(width * 2**k, width * 2 ** (k + 1), 2))
        layers += [conv_bn(width * 2 ** (k + 1), width * 2 ** (k + 1)) for _ in range(depth - 1)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width * 4, classes))


class DistillLoss(nn.Module):
    def __init__(self, T=4.0, alpha=0.7):
        super().__init__()
        self.T, self.alpha = T, alpha

    def forward(self, student, teacher, y):
        soft = F.kl_div(F.log_softmax(student / self.T, 1), F.softmax(teacher / self.T, 1), reduction="batchmean") * self.T**2
        return self.alpha * soft + (1 - self.alpha) * F.cross_entropy(student, y)


class Trainer:
    def __init__(self, teacher, student, loaders, args):
        self.teacher, self.student, self.args = teacher, student, args
        self.train_dl, self.val_dl = loaders
        self.criterion = DistillLoss(args.temperature, args.alpha)
        self.opt = torch.optim.SGD(student.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
        self.teacher.eval()

    def step(self, x, y):
        t_logits = self.teacher(x)
        s_logits = self.student(x)
        loss = self.criterion(s_logits, t_logits, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()

    def fit(self):
        for ep in range(self.args.epochs):
            self.student.train()
            losses = [self.step(x, y) for x, y in self.train_dl]
            log.info("epoch %d loss %.4f val acc %.4f", ep, sum(losses) / len(losses), accuracy(self.student, self.val_dl))
            torch.save(self.student.state_dict(), os.path.join(self.args.out, "student.pt"))


@torch.no_grad()
def accuracy(net, dl):
    net.eval()
    hit = sum((net(x).argmax(1) == y).sum().item() for x, y in dl)
    return hit / len(dl.dataset)


def pretrain(net, dl, steps=12):
    net.train()
    for _, (x, y) in zip(range(steps), dl):
        g = torch.autograd.grad(F.cross_entropy(net(x), y), list(net.parameters()))
        with torch.no_grad():
            for p, d in zip(net.parameters(), g):
                p -= 0.05 * d
    return net


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=9)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--temperature", type=float, default=4.0)
    ap.add_argument("--alpha", type=float, default=0.7)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--out", default="kd_out")
    args = ap.parse_args()
    os.makedirs(args.out, exist_ok=True)
    torch.manual_seed(0)
    train, val = random_split(blobs(3200), [2880, 320])
    loaders = DataLoader(train, args.batch_size, shuffle=True, drop_last=True), DataLoader(val, 160)
    teacher = pretrain(make_net(20), loaders[0])
    log.info("teacher acc %.3f", accuracy(teacher, loaders[1]))
    Trainer(teacher, make_net(12), loaders, args).fit()


if __name__ == "__main__":
    main()
