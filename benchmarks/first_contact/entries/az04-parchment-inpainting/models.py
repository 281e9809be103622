import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class GatedConv(nn.Module):
    def __init__(self, cin, cout, kernel=3, stride=1, dilation=1):
        super().__init__()
        pad = dilation * (kernel - 1) // 2
        self.conv = nn.Conv2d(cin, 2 * cout, kernel, stride, pad, dilation)

    def forward(self, x):
        value, gate = self.conv(x).chunk(2, dim=1)
        return torch.nn.functional.elu(value) * torch.sigmoid(gate)


class Restorer(nn.Module):
    def __init__(self, width=10, use_checkpoint=True):
        super().__init__()
        self.use_checkpoint = use_checkpoint
        self.encoder = nn.Sequential(
            GatedConv(2, width, 5),
            GatedConv(width, 2 * width, 3, 2),
            GatedConv(2 * width, 2 * width),
        )
        self.middle = nn.ModuleList(GatedConv(2 * width, 2 * width, dilation=d) for d in (1, 2, 4, 1))
        self.decoder = nn.Sequential(
            nn.Upsample(scale_factor=2, mode="nearest"),
            GatedConv(2 * width, width),
            nn.Conv2d(width, 1, 3, padding=1),
        )

    def _run(self, block, x):
        if self.use_checkpoint and self.training:
            return checkpoint(block, x, use_reentrant=False)
        return block(x)

    def forward(self, page, mask):
        x = torch.cat([page * mask, mask], dim=1)
        x = self._run(self.encoder, x)
        for block in self.middle:
            x = x + self._run(block, x)
        out = torch.tanh(self._run(self.decoder, x))
        return page * mask + out * (1 - mask)


class StrokeFeatures(nn.Module):
    """Features of a network trained to tell scribes apart; weights come from features.pt."""

    def __init__(self, width=24):
        super().__init__()
        self.stage1 = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1), nn.ReLU())
        self.stage2 = nn.Sequential(nn.AvgPool2d(2), nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(), nn.Conv2d(2 * width, 2 * width, 3, padding=1), nn.ReLU())
        self.stage3 = nn.Sequential(nn.AvgPool2d(2), nn.Conv2d(2 * width, 4 * width, 3, padding=1), nn.ReLU())

    def forward(self, x):
        a = self.stage1(x)
        b = self.stage2(a)
        return [a, b, self.stage3(b)]
