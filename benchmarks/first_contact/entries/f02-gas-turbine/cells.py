import torch
import torch.nn as nn


class LSTMLayer(nn.Module):
    """LSTM over (batch, time, features); returns all hidden states."""

    def __init__(self, inputs, hidden):
        super().__init__()
        self.hidden = hidden
        self.forget = nn.Linear(inputs + hidden, hidden)
        self.input = nn.Linear(inputs + hidden, hidden)
        self.cell = nn.Linear(inputs + hidden, hidden)
        self.output = nn.Linear(inputs + hidden, hidden)

    def forward(self, x):
        batch, steps, _ = x.shape
        h = torch.zeros(batch, self.hidden)
        c = torch.zeros(batch, self.hidden)
        states = []
        for t in range(steps):
            z = torch.cat([x[:, t], h], dim=1)
            f = torch.sigmoid(self.forget(z))
            i = torch.sigmoid(self.input(z))
            g = torch.tanh(self.cell(z))
            o = torch.sigmoid(self.output(z))
            c = f * c + i * g
            h = o * torch.tanh(c)
            states.append(h)
        return torch.stack(states, dim=1)
