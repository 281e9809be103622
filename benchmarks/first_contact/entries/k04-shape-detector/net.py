import torch
import torch.nn as nn


def conv(i, o, s=1):
    return nn.Sequential(nn.Conv2d(i, o, 3, s, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class Detector(nn.Module):
    def __init__(self, n_classes, per_cell=6, width=24):
        super().__init__()
        self.stem = nn.Sequential(conv(3, width, 2), conv(width, width, 2))
        self.c3 = nn.Sequential(conv(width, 2 * width, 2), conv(2 * width, 2 * width))
        self.c4 = nn.Sequential(conv(2 * width, 3 * width, 2), conv(3 * width, 2 * width))
        self.cls = nn.Conv2d(2 * width, per_cell * n_classes, 3, padding=1)
        self.box = nn.Conv2d(2 * width, per_cell * 4, 3, padding=1)
        self.n_classes = n_classes
        nn.init.constant_(self.cls.bias, -3.5)

    def forward(self, x):
        p3 = self.c3(self.stem(x))
        logits, deltas = [], []
        for level in (p3, self.c4(p3)):
            b = len(level)
            logits.append(self.cls(level).permute(0, 2, 3, 1).reshape(b, -1, self.n_classes))
            deltas.append(self.box(level).permute(0, 2, 3, 1).reshape(b, -1, 4))
        return torch.cat(logits, 1), torch.cat(deltas, 1)


def focal_loss(logits, target, alpha=0.25, gamma=2.0):
    bce = nn.functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
    p = logits.sigmoid()
    pt = p * target + (1 - p) * (1 - target)
    return (alpha * target + (1 - alpha) * (1 - target)) * (1 - pt) ** gamma * bce
