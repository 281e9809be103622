import torch
from torch import nn


class ColdAirLayer(nn.Module):
    """Messages along links depend on both ends and on the slope between them; their mean updates the sensor."""

    def __init__(self, width, bearing):
        super().__init__()
        self.message = nn.Sequential(nn.Linear(2 * width + bearing, width), nn.SiLU(), nn.Linear(width, width // 2), nn.SiLU())
        self.update = nn.Linear(width + width // 2, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, h, edges, bearing, degree):
        source, to = edges
        here, there = h[:, to], h[:, source]
        ends = torch.cat([here, there, bearing.expand(len(h), -1, -1)], dim=-1)
        messages = self.message(ends)
        pooled = h.new_zeros(h.shape[0], h.shape[1], messages.shape[-1])
        pooled.index_add_(1, to, messages)
        pooled = pooled / degree[:, None]
        return self.norm(h + torch.nn.functional.silu(self.update(torch.cat([h, pooled], dim=-1))))


class FrostNet(nn.Module):
    def __init__(self, site, past, ahead, width=64, depth=2, hops=3):
        super().__init__()
        self.register_buffer("edges", site.edges)
        self.register_buffer("bearing", site.bearing)
        self.register_buffer("walk", site.walk)
        self.register_buffer("position", site.position)
        degree = torch.zeros(len(site.position)).index_add_(0, site.edges[1], torch.ones(site.edges.shape[1]))
        self.register_buffer("degree", degree)
        self.embed = nn.Linear(2 * 3 * past + 3, width)
        self.layers = nn.ModuleList(ColdAirLayer(width, site.bearing.shape[1]) for _ in range(depth))
        self.heads = nn.ModuleList(nn.Linear(width, 1) for _ in range(ahead))

    def forward(self, readings):
        b, n, f = readings.shape
        columns = readings.transpose(0, 1).reshape(n, b * f)
        mixed = self.walk @ self.walk @ self.walk @ columns
        mixed = mixed.view(n, b, f).transpose(0, 1)
        place = self.position.expand(b, -1, -1)
        h = self.embed(torch.cat([readings, readings - mixed, place], dim=-1))
        for layer in self.layers:
            h = layer(h, self.edges, self.bearing, self.degree)
        change = torch.cat([head(h) for head in self.heads], dim=-1)
        return readings[..., -3:-2] + change
