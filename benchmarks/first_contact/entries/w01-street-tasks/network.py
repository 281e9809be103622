import torch
from torch import nn
import torch.nn.functional as F

from scenes import CLASSES


def block(inside, outside, stride=1):
    return nn.Sequential(
        nn.Conv2d(inside, outside, 3, stride, 1, bias=False),
        nn.BatchNorm2d(outside),
        nn.ReLU(inplace=True),
    )


class Trunk(nn.Module):
    """Features at half resolution, shared by all tasks."""

    def __init__(self, width):
        super().__init__()
        self.stem = block(3, width, stride=2)
        self.down = nn.Sequential(block(width, 2 * width, stride=2), block(2 * width, 2 * width))
        self.deep = nn.Sequential(block(2 * width, 4 * width, stride=2), block(4 * width, 4 * width))
        self.lateral = nn.Conv2d(4 * width, 2 * width, 1)
        self.out = nn.Conv2d(2 * width, width, 3, padding=1)

    def forward(self, images):
        half = self.stem(images)
        quarter = self.down(half)
        eighth = self.lateral(self.deep(quarter))
        merged = quarter + F.interpolate(eighth, scale_factor=2, mode="nearest")
        merged = F.interpolate(self.out(merged), scale_factor=2, mode="nearest")
        return F.relu(half + merged)


class Head(nn.Module):
    def __init__(self, width, outputs):
        super().__init__()
        self.body = block(width, width)
        self.out = nn.Conv2d(width, outputs, 1)

    def forward(self, features):
        return F.interpolate(self.out(self.body(features)), scale_factor=2, mode="bilinear")


class StreetNet(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.trunk = Trunk(width)
        self.heads = nn.ModuleDict({
            "segment": Head(width, CLASSES),
            "depth": Head(width, 1),
            "normals": Head(width, 3),
        })

    def forward(self, images):
        features = self.trunk(images)
        return {name: head(features) for name, head in self.heads.items()}

    def shared_parameters(self):
        return list(self.trunk.parameters())


def task_losses(outputs, labels, depth, normals):
    predicted = F.normalize(outputs["normals"], dim=1)
    return torch.stack([
        F.cross_entropy(outputs["segment"], labels),
        F.smooth_l1_loss(outputs["depth"], depth, beta=0.1),
        1 - (predicted * normals).sum(1).mean(),
    ])
