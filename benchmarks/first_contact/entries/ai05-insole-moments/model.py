import torch
from torch import nn


class InsoleEncoder(nn.Module):
    """Pretrained by masked reconstruction on the unlabelled walks (see the insole-pretrain folder)."""

    def __init__(self, channels, width=64):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(channels, width, 7, padding=3),
            nn.ReLU(),
            nn.Conv1d(width, width, 5, padding=2),
            nn.ReLU(),
            nn.Conv1d(width, width, 5, padding=2),
            nn.ReLU(),
        )

    def forward(self, x):
        return self.layers(x)


class DilatedBlock(nn.Module):
    def __init__(self, width, dilation):
        super().__init__()
        self.norm = nn.GroupNorm(8, width)
        self.conv = nn.Conv1d(width, width, 5, padding=2 * dilation, dilation=dilation)
        self.mix = nn.Conv1d(width, width, 1)

    def forward(self, x):
        return x + self.mix(torch.relu(self.conv(self.norm(x))))


class MomentNet(nn.Module):
    """Insole signals (batch, channels, 101) -> ankle, knee and hip moments (batch, 3, 101)."""

    def __init__(self, channels, width=64, joints=3):
        super().__init__()
        self.encoder = InsoleEncoder(channels, width)
        self.blocks = nn.Sequential(*[DilatedBlock(width, d) for d in (1, 2, 4)])
        self.out = nn.Conv1d(width, joints, 1)

    def forward(self, x):
        features = self.encoder(x)
        return self.out(self.blocks(features))
