"""Kind of rain (drizzle, stratiform, convective, hail, graupel, sleet) from the drops that cross an optical disdrometer.

The sensor gives a minute as an unordered list of drops (diameter, fall speed, duration, light lost). Every drop
is turned into a feature vector and spread over its four neighbouring cells of the diameter-velocity plane;
a small convolutional net reads the plane, and a projected second-order pooling goes before the classifier.
"""
import math
import time

import torch
from torch import nn
from torch.nn import functional as F

KINDS = 6
DROPS = 200
MINUTES, HELD = 2000, 300
BATCH = 12
STEPS = 1400
CHECK_EVERY = 200
LR = 2e-3
ROWS, COLUMNS = 16, 16


def minutes(count, seed):
    g = torch.Generator().manual_seed(seed)
    kind = torch.randint(0, KINDS, (count,), generator=g)
    slope = torch.tensor([4.2, 2.6, 1.6, 0.8, 1.2, 2.0])[kind] * torch.exp(0.2 * torch.randn(count, generator=g))
    density = torch.tensor([1.0, 1.0, 1.0, 0.85, 0.45, 0.6])[kind] * torch.exp(0.08 * torch.randn(count, generator=g))
    gust = torch.rand(count, generator=g) * 0.5
    shape = torch.rand(count, DROPS, 3, generator=g).clamp_min(1e-6)
    diameter = (-shape.log().sum(-1) / slope[:, None] * 0.8 + 0.15).clamp(max=8.0)
    speed = density[:, None] * (9.65 - 10.3 * torch.exp(-0.6 * diameter)).clamp_min(0.2)
    speed = (speed * (1 + gust[:, None] * 0.3 * torch.randn(count, DROPS, generator=g))).clamp(0.1, 11.9)
    lost = diameter ** 2 * (0.9 + 0.2 * torch.rand(count, DROPS, generator=g)) / 64
    lasted = (diameter + 1.0) / speed
    margin = torch.rand(count, DROPS, generator=g) < 0.05
    speed = torch.where(margin, speed * 0.5, speed)
    return torch.stack([diameter / 8, speed / 12, lasted.log(), lost], dim=-1), kind


class Spread(nn.Module):
    """Bilinear deposit of feature vectors on the plane."""

    def __init__(self, channels):
        super().__init__()
        self.channels = channels

    def forward(self, places, features):
        b, n, c = features.shape
        y = places[..., 0].clamp(0, 0.999) * (ROWS - 1)
        x = places[..., 1].clamp(0, 0.999) * (COLUMNS - 1)
        y0, x0 = y.floor().long(), x.floor().long()
        fy, fx = y - y0, x - x0
        batch = torch.arange(b).unsqueeze(1).expand(b, n)
        plane = features.new_zeros(b, ROWS, COLUMNS, c)
        for dy, wy in ((0, 1 - fy), (1, fy)):
            for dx, wx in ((0, 1 - fx), (1, fx)):
                plane.index_put_((batch, y0 + dy, x0 + dx), features * (wy * wx).unsqueeze(-1), accumulate=True)
        return plane.permute(0, 3, 1, 2)


class SecondOrder(nn.Module):
    """Covariance of the channels over the plane, one side projected to a few directions."""

    def __init__(self, channels, directions):
        super().__init__()
        self.project = nn.Parameter(torch.randn(channels, directions) / math.sqrt(channels))

    def forward(self, x):
        x = x.flatten(2)
        x = x - x.mean(dim=2, keepdim=True)
        s = torch.einsum("bcp,bdp,dr->bcr", x, x, self.project) / x.shape[2]
        return F.normalize(s.flatten(1), dim=1)


class RainNet(nn.Module):
    def __init__(self, drop=16, width=32, channels=256, directions=6):
        super().__init__()
        self.drop = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, drop))
        self.spread = Spread(drop)
        self.trunk = nn.Sequential(
            nn.Conv2d(drop, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, channels, 1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(),
        )
        self.pool = SecondOrder(channels, directions)
        self.head = nn.Linear(channels * directions, KINDS)

    def forward(self, drops):
        plane = self.spread(drops[..., :2], self.drop(drops))
        return self.head(8 * self.pool(self.trunk(plane)))


@torch.no_grad()
def check(net, drops, kind):
    net.eval()
    right = sum((net(d).argmax(1) == k).sum().item() for d, k in zip(drops.split(50), kind.split(50)))
    net.train()
    return right / len(kind)


torch.manual_seed(27)
drops, kind = minutes(MINUTES + HELD, seed=27)
held_drops, held_kind = drops[MINUTES:], kind[MINUTES:]
net = RainNet()
optimizer = torch.optim.SGD(net.parameters(), lr=LR * 10, momentum=0.9, nesterov=True, weight_decay=5e-4, fused=True)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LR * 50, total_steps=STEPS)

step, running, began = 0, torch.zeros(()), time.time()
while step < STEPS:
    rows = torch.randint(0, MINUTES, (BATCH,))
    loss = F.cross_entropy(net(drops[rows]), kind[rows], label_smoothing=0.05)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    running += loss.detach()
    step += 1
    if step % CHECK_EVERY == 0:
        share = check(net, held_drops, held_kind)
        print(f"{step:5d}  loss {running.item() / CHECK_EVERY:.4f}  held {share:.1%}  {time.time() - began:.0f}s", flush=True)
        running.zero_()
torch.save(net.state_dict(), "rain.pt")
