import torch
import torch.nn as nn
import torch.nn.functional as F


def block(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    def __init__(self, base=16, depth=4):
        super().__init__()
        widths = [base * 2 ** i for i in range(depth)]
        self.down = nn.ModuleList()
        cin = 1
        for w in widths:
            self.down.append(block(cin, w))
            cin = w
        self.up = nn.ModuleList()
        self.merge = nn.ModuleList()
        for w in reversed(widths[:-1]):
            self.up.append(nn.ConvTranspose2d(2 * w, w, 2, stride=2))
            self.merge.append(block(2 * w, w))
        self.out = nn.Conv2d(base, 1, 1)

    def forward(self, x):
        skips = []
        for i, down in enumerate(self.down):
            if i:
                x = F.max_pool2d(x, 2)
            x = down(x)
            skips.append(x)
        skips.pop()
        for up, merge in zip(self.up, self.merge):
            x = merge(torch.cat([skips.pop(), up(x)], 1))
        return self.out(x)
