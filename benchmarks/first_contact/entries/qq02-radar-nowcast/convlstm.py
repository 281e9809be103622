import torch
from torch import nn
from torch.nn import functional as F


class ConvLSTMCell(nn.Module):
    def __init__(self, in_channels, hidden, kernel=3):
        super().__init__()
        self.hidden = hidden
        self.gates = nn.Conv2d(in_channels + hidden, 4 * hidden, kernel, padding=kernel // 2)

    def forward(self, x, state):
        h, c = state
        i, f, o, g = self.gates(torch.cat([x, h], 1)).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        return h, c

    def start(self, batch, size, like):
        zeros = like.new_zeros(batch, self.hidden, *size)
        return zeros, zeros


class Nowcaster(nn.Module):
    """Encoder and forecaster of two ConvLSTM layers on 4 x 4 patches."""

    def __init__(self, hidden=32, patch=4, n_out=10):
        super().__init__()
        self.patch, self.n_out = patch, n_out
        channels = patch * patch
        self.encoder = nn.ModuleList([ConvLSTMCell(channels, hidden), ConvLSTMCell(hidden, hidden)])
        self.forecaster = nn.ModuleList([ConvLSTMCell(channels, hidden), ConvLSTMCell(hidden, hidden)])
        self.head = nn.Conv2d(2 * hidden, channels, 1)

    def forward(self, frames):
        batch, n_in = frames.shape[:2]
        patches = F.pixel_unshuffle(frames.flatten(0, 1), self.patch).unflatten(0, (batch, n_in))
        size = patches.shape[-2:]
        states = [cell.start(batch, size, patches) for cell in self.encoder]
        for t in range(n_in):
            x = patches[:, t]
            for k, cell in enumerate(self.encoder):
                states[k] = cell(x, states[k])
                x = states[k][0]
        last, outputs = patches[:, -1], []
        for _ in range(self.n_out):
            x = last
            for k, cell in enumerate(self.forecaster):
                states[k] = cell(x, states[k])
                x = states[k][0]
            last = last + self.head(torch.cat([states[0][0], states[1][0]], 1))
            outputs.append(last)
        patches = torch.stack(outputs, 1)
        out = F.pixel_shuffle(patches.flatten(0, 1), self.patch)
        return out.unflatten(0, (batch, self.n_out))
