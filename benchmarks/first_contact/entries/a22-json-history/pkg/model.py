import torch
from torch import nn


class TCN(nn.Module):
    """Dilated causal convolutions for sensor windows."""

    def __init__(self, sensors, classes, width=48, levels=4):
        super().__init__()
        self.inp = nn.Conv1d(sensors, width, 1)
        self.convs = nn.ModuleList(nn.Conv1d(width, width, 3, dilation=2 ** i) for i in range(levels))
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in range(levels))
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.inp(x)
        for conv, norm in zip(self.convs, self.norms):
            pad = (conv.kernel_size[0] - 1) * conv.dilation[0]
            x = x + torch.relu(norm(conv(nn.functional.pad(x, (pad, 0)))))
        return self.head(x[:, :, -1])
