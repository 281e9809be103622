import torch
from torch import nn
from torch.nn import functional as F


def double(before, after):
    return nn.Sequential(
        nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True),
        nn.Conv2d(after, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True),
    )


class CrackNet(nn.Module):
    def __init__(self, width=10):
        super().__init__()
        self.reduce = nn.Conv2d(3, width, 4, stride=2, padding=1)
        self.down1, self.down2 = double(width, width), double(width, 2 * width)
        self.bottom = double(2 * width, 4 * width)
        self.up2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2)
        self.merge2 = double(4 * width, 2 * width)
        self.up1 = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.merge1 = double(2 * width, width)
        self.out = nn.ConvTranspose2d(width, 1, 2, stride=2)

    def forward(self, x):
        a = self.down1(F.relu(self.reduce(x)))
        b = self.down2(F.max_pool2d(a, 2))
        c = self.bottom(F.max_pool2d(b, 2))
        b = self.merge2(torch.cat([b, self.up2(c)], 1))
        a = self.merge1(torch.cat([a, self.up1(b)], 1))
        return self.out(a)


def tolerance_loss(logits, mask, reach=6):
    """Dice with slack: a predicted crack counts as right if a true one lies within `reach` pixels, and the other
    way round."""
    side = 2 * reach + 1
    found = torch.sigmoid(logits)
    near_mask = F.max_pool2d(mask, side, stride=1, padding=reach)
    near_found = F.max_pool2d(found, side, stride=1, padding=reach)
    precision = (found * near_mask).sum((1, 2, 3)) / (found.sum((1, 2, 3)) + 1)
    recall = (mask * near_found).sum((1, 2, 3)) / (mask.sum((1, 2, 3)) + 1)
    slack = 1 - 2 * precision * recall / (precision + recall + 1e-6)
    return F.binary_cross_entropy_with_logits(logits, mask, pos_weight=torch.tensor(3.0)) + slack.mean()
