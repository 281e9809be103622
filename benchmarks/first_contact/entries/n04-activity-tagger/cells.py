import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm


class NormedGRU(nn.Module):
    """A gated recurrence with weight-normed recurrent matrix and layer-normed gates."""

    def __init__(self, inputs, hidden):
        super().__init__()
        self.hidden = hidden
        self.inputs = nn.Linear(inputs, 3 * hidden)
        self.recurrent = weight_norm(nn.Linear(hidden, 3 * hidden, bias=False))
        self.norm = nn.LayerNorm(2 * hidden)

    def cell(self, drive, state):
        pushed = self.recurrent(state)
        d1, d2 = drive.split([2 * self.hidden, self.hidden], 1)
        p1, p2 = pushed.split([2 * self.hidden, self.hidden], 1)
        gates = torch.sigmoid(self.norm(d1 + p1))
        update, reset = gates.chunk(2, dim=1)
        candidate = torch.tanh(torch.addcmul(d2, reset, p2))
        return torch.lerp(candidate, state, update)

    def forward(self, x):
        drive = self.inputs(x).transpose(0, 1).contiguous().unbind(0)
        state = x.new_zeros(len(x), self.hidden)
        states = []
        for step in drive:
            state = self.cell(step, state)
            states.append(state)
        return torch.stack(states, dim=1)


class Tagger(nn.Module):
    def __init__(self, channels, classes, hidden=160, features=64):
        super().__init__()
        self.front = nn.Sequential(nn.Linear(channels, features), nn.ReLU())
        self.recurrence = NormedGRU(features, hidden)
        self.head = nn.Linear(hidden, classes)

    def forward(self, signal):
        return self.head(self.recurrence(self.front(signal)))
