import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1)
        self.second = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x):
        return x + self.second(torch.relu_(self.first(x)))


class Restorer(nn.Module):
    """Focal stack -> clean image; the convolutions run at half the resolution."""

    def __init__(self, planes=8, width=16, blocks=2):
        super().__init__()
        self.fold = nn.PixelUnshuffle(2)
        self.enter = nn.Conv2d(4 * planes, width, 3, padding=1)
        self.blocks = nn.Sequential(*[Block(width) for _ in range(blocks)])
        self.out = nn.Conv2d(width, 4, 3, padding=1)
        self.unfold = nn.PixelShuffle(2)

    def forward(self, stack):
        x = self.fold(stack).contiguous(memory_format=torch.channels_last)
        x = self.out(self.blocks(torch.relu_(self.enter(x))))
        return torch.relu(stack[:, :1] + self.unfold(x))
