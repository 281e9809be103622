import torch
from torch import nn


class ConductivityField(nn.Module):
    """Log-conductivity of every cell from random Fourier features of its place."""

    def __init__(self, rows=14, cols=16, features=96, width=256, scale=2.0):
        super().__init__()
        y, x = torch.meshgrid(torch.linspace(0, 1, rows), torch.linspace(0, 1, cols), indexing="ij")
        place = torch.stack([x.flatten(), y.flatten()], 1)
        waves = place @ (scale * torch.randn(2, features)) * 6.2832
        self.register_buffer("encoded", torch.cat([waves.sin(), waves.cos()], 1))
        self.net = nn.Sequential(
            nn.Linear(2 * features, width), nn.SiLU(),
            nn.Linear(width, width), nn.SiLU(),
            nn.Linear(width, 1),
        )
        self.rows, self.cols = rows, cols

    def forward(self):
        return self.net(self.encoded).squeeze(1)

    def roughness(self, log_k):
        grid = log_k.view(self.rows, self.cols)
        return grid.diff(dim=0).square().mean() + grid.diff(dim=1).square().mean()


def reference_field(rows, cols, generator):
    """The field that made the observations: two channels in a tight matrix."""
    y, x = torch.meshgrid(torch.linspace(0, 1, rows), torch.linspace(0, 1, cols), indexing="ij")
    channel = torch.exp(-((y - 0.3 - 0.2 * torch.sin(5 * x)) / 0.10) ** 2)
    other = torch.exp(-((y - 0.75 + 0.1 * x) / 0.08) ** 2)
    noise = 0.15 * torch.randn(rows, cols, generator=generator)
    return (-1.0 + 2.2 * channel + 1.5 * other + noise).flatten()
