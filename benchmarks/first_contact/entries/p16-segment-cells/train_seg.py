import argparse
import logging

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("seg")
CLASSES = ["background", "nucleus", "membrane", "debris"]


class Cells(Dataset):
    def __init__(self, n, size, seed):
        g = torch.Generator().manual_seed(seed)
        low = torch.rand(n, 1, size // 8, size // 8, generator=g)
        field = F.interpolate(low, size=(size, size), mode="bilinear", align_corners=False)[:, 0]
        self.masks = (field * 3.999).long().clamp(0, 3)
        self.images = field[:, None] + 0.15 * torch.randn(n, 1, size, size, generator=g)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], self.masks[i]


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class SmallUNet(nn.Module):
    def __init__(self, c=12, k=4):
        super().__init__()
        self.e1, self.e2, self.mid = block(1, c), block(c, 2 * c), block(2 * c, 4 * c)
        self.d2, self.d1 = block(6 * c, 2 * c), block(3 * c, c)
        self.out = nn.Conv2d(c, k, 1)

    def forward(self, x):
        a = self.e1(x)
        b = self.e2(F.max_pool2d(a, 2))
        m = self.mid(F.max_pool2d(b, 2))
        u = self.d2(torch.cat([F.interpolate(m, scale_factor=2), b], 1))
        return self.out(self.d1(torch.cat([F.interpolate(u, scale_factor=2), a], 1)))


class IoU:
    def __init__(self, k):
        self.cm = np.zeros((k, k), dtype=np.int64)

    def add(self, pred, target):
        for p, t in zip(pred.view(-1).numpy(), target.view(-1).numpy()):
            self.cm[t, p] += 1

    def mean(self):
        inter = np.diag(self.cm)
        return float(np.mean(inter / np.maximum(1, self.cm.sum(0) + self.cm.sum(1) - inter)))


def main(cfg):
    torch.manual_seed(cfg.seed)
    loader = DataLoader(Cells(8 * 60, 48, cfg.seed), batch_size=cfg.batch, shuffle=True)
    net = SmallUNet(k=len(CLASSES))
    opt = torch.optim.RMSprop(net.parameters(), lr=1e-4, momentum=0.9)
    for epoch in range(cfg.epochs):
        iou, running = IoU(len(CLASSES)), 0.0
        for n, (x, m) in enumerate(loader, 1):
            net.train()
            loss = F.cross_entropy(net(x), m)
            opt.zero_grad()
            loss.backward()
            opt.step()
            running += loss.item()
            net.eval()
            with torch.no_grad():
                pred = net(x).argmax(1)
            iou.add(pred, m)
            if n % 20 == 0:
                log.info("epoch %d %d/%d loss %.4f mIoU %.3f", epoch, n, len(loader), running / n, iou.mean())


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=2)
    ap.add_argument("--batch", type=int, default=8)
    ap.add_argument("--seed", type=int, default=11)
    main(ap.parse_args())
