import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.hidden = hidden
        self.cell = nn.GRUCell(inputs, hidden)

    def forward(self, x):
        state = x.new_zeros(x.size(0), self.hidden)
        states = []
        for step in range(x.size(1)):
            state = self.cell(x[:, step], state)
            states.append(state)
        return torch.stack(states, dim=1), state


class Attention(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.query = nn.Linear(hidden, hidden, bias=False)

    def forward(self, state, keys):
        scores = torch.bmm(keys, self.query(state).unsqueeze(2)).squeeze(2) / keys.size(-1) ** 0.5
        return torch.bmm(scores.softmax(1).unsqueeze(1), keys).squeeze(1)


class Decoder(nn.Module):
    """Predicts hour by hour; its input is the last level (true or predicted) and what is known of the hour."""

    def __init__(self, inputs, hidden, dropout):
        super().__init__()
        self.cell = nn.GRUCell(inputs + 1 + hidden, hidden)
        self.attention = Attention(hidden)
        self.out = nn.Sequential(nn.Linear(2 * hidden, hidden), nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, 1))

    def forward(self, future, last, state, keys, target=None, teacher=0.0):
        levels = []
        for step in range(future.size(1)):
            context = self.attention(state, keys)
            state = self.cell(torch.cat([last, future[:, step], context], dim=1), state)
            level = last + self.out(torch.cat([state, context], dim=1))
            levels.append(level)
            use_truth = target is not None and torch.rand(()).item() < teacher
            last = target[:, step:step + 1] if use_truth else level
        return torch.cat(levels, dim=1)


class DockForecaster(nn.Module):
    def __init__(self, stations, past, future, hidden, station_dim, dropout):
        super().__init__()
        self.station = nn.Embedding(stations, station_dim)
        self.encoder = Encoder(past + station_dim, hidden)
        self.decoder = Decoder(future + station_dim, hidden, dropout)

    def forward(self, station, past, future, target=None, teacher=0.0):
        place = self.station(station).unsqueeze(1)
        encoded, state = self.encoder(torch.cat([past, place.expand(-1, past.size(1), -1)], dim=2))
        coming = torch.cat([future, place.expand(-1, future.size(1), -1)], dim=2)
        return self.decoder(coming, past[:, -1, :1], state, encoded, target, teacher)
