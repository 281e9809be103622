import torch
import torch.nn as nn


class Encoder(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.hidden = hidden
        self.cell = nn.LSTMCell(inputs, hidden)

    def forward(self, x):
        h = x.new_zeros(x.size(0), self.hidden)
        c = x.new_zeros(x.size(0), self.hidden)
        outputs = []
        for t in range(x.size(1)):
            h, c = self.cell(x[:, t], (h, c))
            outputs.append(h)
        return torch.stack(outputs, dim=1), (h, c)


class Attention(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.key = nn.Linear(hidden, hidden)
        self.query = nn.Linear(hidden, hidden)
        self.score = nn.Linear(hidden, 1)

    def forward(self, state, memory):
        e = self.score(torch.tanh(self.key(memory) + self.query(state).unsqueeze(1)))
        weights = torch.softmax(e, dim=1)
        return (weights * memory).sum(dim=1)


class ClimateForecaster(nn.Module):
    """Encoder-decoder: the decoder rolls the climate forward under the given controls."""

    def __init__(self, inputs, controls, targets, hidden=64):
        super().__init__()
        self.encoder = Encoder(inputs, hidden)
        self.attention = Attention(hidden)
        self.decoder = nn.LSTMCell(targets + controls + hidden, hidden)
        self.out = nn.Linear(2 * hidden, targets)
        self.targets = targets

    def forward(self, past, controls):
        memory, (h, c) = self.encoder(past)
        y = past[:, -1, :self.targets]
        forecast = []
        for t in range(controls.size(1)):
            context = self.attention(h, memory)
            h, c = self.decoder(torch.cat([y, controls[:, t], context], dim=1), (h, c))
            y = y + self.out(torch.cat([h, context], dim=1))
            forecast.append(y)
        return torch.stack(forecast, dim=1)
