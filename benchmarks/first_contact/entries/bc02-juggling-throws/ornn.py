import torch
from torch import nn
from torch.nn.utils.parametrizations import orthogonal


class ModReLU(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = nn.Parameter(torch.empty(width).uniform_(-0.01, 0.01))

    def forward(self, z):
        return torch.sign(z) * torch.relu(z.abs() + self.bias)


class OrthogonalCell(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.turn = orthogonal(nn.Linear(width, width, bias=False))
        self.act = ModReLU(width)

    def forward(self, drive, hidden):
        return self.act(drive + self.turn(hidden))


class ThrowModel(nn.Module):
    """Next throw of a juggling walk, from the throws before it and the number of balls."""

    def __init__(self, symbols, width, embed=64):
        super().__init__()
        self.throw = nn.Embedding(symbols, embed)
        self.balls = nn.Embedding(8, embed)
        self.drive = nn.Linear(embed, width)
        self.cell = OrthogonalCell(width)
        self.readout = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.LayerNorm(4 * width), nn.Linear(4 * width, symbols))
        self.start = nn.Parameter(torch.zeros(width))

    def forward(self, throws, balls):
        drive = self.drive(self.throw(throws) + self.balls(balls).unsqueeze(1))
        hidden = self.start.expand(len(throws), -1)
        states = []
        for step in drive.unbind(1):
            hidden = self.cell(step, hidden)
            states.append(hidden)
        return self.readout(torch.stack(states, 1))
