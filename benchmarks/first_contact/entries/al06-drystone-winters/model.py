"""Message passing between the stones of a section, told of the weather."""

import torch
from torch import nn


class WeatherBag(nn.Module):
    """A set of hours becomes one vector."""

    def __init__(self, channels, width):
        super().__init__()
        self.hour = nn.Sequential(nn.Linear(channels, width), nn.SiLU(), nn.Linear(width, width))
        self.out = nn.Linear(2 * width, width)

    def forward(self, weather):
        hours = self.hour(weather)
        return self.out(torch.cat([hours.mean(1), hours.amax(1)], dim=-1))


class ContactLayer(nn.Module):
    def __init__(self, width, edge, dropout):
        super().__init__()
        self.message = nn.Sequential(
            nn.Linear(2 * width + edge, width),
            nn.SiLU(),
            nn.Linear(width, width),
            nn.SiLU(),
        )
        self.update = nn.Sequential(
            nn.Linear(2 * width, width),
            nn.SiLU(),
            nn.Dropout(dropout),
            nn.Linear(width, width),
        )
        self.norm = nn.LayerNorm(width)

    def forward(self, stones, contact, reach):
        count = stones.shape[1]
        receiver = stones.unsqueeze(2).expand(-1, -1, count, -1)
        sender = stones.unsqueeze(1).expand(-1, count, -1, -1)
        messages = self.message(torch.cat([receiver, sender, contact], dim=-1))
        gathered = (messages * reach).sum(2)
        return self.norm(stones + self.update(torch.cat([stones, gathered], dim=-1)))


class DrystoneNet(nn.Module):
    def __init__(self, features=9, edge=6, channels=4, width=40, layers=2, dropout=0.1):
        super().__init__()
        self.stone = nn.Linear(features, width)
        self.weather = WeatherBag(channels, width)
        self.layers = nn.ModuleList(ContactLayer(width, edge, dropout) for _ in range(layers))
        self.shift = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))
        self.bulge = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))

    def forward(self, stones, contact, present, weather):
        reach = contact[..., -1:]
        hidden = self.stone(stones) + self.weather(weather).unsqueeze(1)
        for layer in self.layers:
            hidden = layer(hidden, contact, reach)
        shift = self.shift(hidden).squeeze(-1)
        weight = present.unsqueeze(-1).to(hidden.dtype)
        pooled = (hidden * weight).sum(1) / weight.sum(1)
        return shift * present, self.bulge(pooled).squeeze(-1)
