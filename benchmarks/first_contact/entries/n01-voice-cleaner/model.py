import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, channels, hidden, dilation):
        super().__init__()
        self.wide = nn.Conv1d(channels, hidden, 3, padding=dilation, dilation=dilation)
        self.norm = nn.GroupNorm(1, hidden)
        self.outer = nn.Conv1d(hidden, channels, 1)

    def forward(self, x):
        h = F.relu(self.norm(self.wide(x)))
        return x + self.outer(h)


class MaskNet(nn.Module):
    """Learnt filterbank, a stack of dilated blocks, a mask, and back to samples."""

    def __init__(self, filters=64, hidden=64, blocks=4, kernel=32):
        super().__init__()
        self.kernel = kernel
        self.encoder = nn.Conv1d(1, filters, kernel, stride=kernel // 2, padding=kernel // 2, bias=False)
        self.enter = nn.Conv1d(filters, filters, 1)
        self.blocks = nn.Sequential(*[Block(filters, hidden, 2 ** i) for i in range(blocks)])
        self.mask = nn.Conv1d(filters, filters, 1)
        self.decoder = nn.ConvTranspose1d(filters, 1, kernel, stride=kernel // 2, padding=kernel // 2, bias=False)

    def forward(self, wave):
        code = F.relu(self.encoder(wave.unsqueeze(1)))
        mask = torch.sigmoid(self.mask(self.blocks(self.enter(code))))
        return self.decoder(code * mask).squeeze(1)[:, : wave.shape[1]]
