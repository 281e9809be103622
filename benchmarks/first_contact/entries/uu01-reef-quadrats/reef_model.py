"""A small residual network for many labels at once."""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, inside, outside, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outside)
        self.act = nn.ReLU(inplace=True)
        self.skip = nn.Identity()
        if stride != 1 or inside != outside:
            self.skip = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

    def forward(self, x):
        out = self.act(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return self.act(out + self.skip(x))


class ReefNet(nn.Module):
    def __init__(self, taxa, width=24, dropout=0.2):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 5, 2, 2, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
        )
        self.body = nn.Sequential(
            Block(width, width),
            Block(width, 2 * width, 2),
            Block(2 * width, 4 * width, 2),
            Block(4 * width, 4 * width),
        )
        self.head = nn.Sequential(nn.Dropout(dropout), nn.Linear(4 * width, taxa))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        x = self.body(self.stem(x))
        return self.head(x.mean((2, 3)))


class AsymmetricLoss(nn.Module):
    """Focal loss with a gentler slope on the negatives (Ben-Baruch et al.)."""

    def __init__(self, positive_weight, gamma_pos=0.0, gamma_neg=2.0, clip=0.05):
        super().__init__()
        self.register_buffer("positive_weight", positive_weight)
        self.gamma_pos = gamma_pos
        self.gamma_neg = gamma_neg
        self.clip = clip

    def forward(self, logits, target):
        p = torch.sigmoid(logits)
        q = (1 - p + self.clip).clamp(max=1)
        positive = target * p.clamp(min=1e-7).log() * (1 - p) ** self.gamma_pos * self.positive_weight
        negative = (1 - target) * q.clamp(min=1e-7).log() * (1 - q) ** self.gamma_neg
        return -(positive + negative).sum(1).mean()
