import torch
from torch import nn


class Frequencies(nn.Module):
    def __init__(self, octaves):
        super().__init__()
        self.register_buffer("scale", 2.0 ** torch.arange(octaves))

    def forward(self, x):
        angles = (x.unsqueeze(-1) * self.scale).flatten(-2)
        return torch.cat([x, angles.sin(), angles.cos()], -1)


class RadianceField(nn.Module):
    """Density and colour at points seen from a direction."""

    def __init__(self, width=64, octaves=6, view_octaves=2):
        super().__init__()
        self.where, self.view = Frequencies(octaves), Frequencies(view_octaves)
        self.body = nn.Sequential(
            nn.Linear(3 * (1 + 2 * octaves), width), nn.ReLU(inplace=True),
            nn.Linear(width, width), nn.ReLU(inplace=True),
            nn.Linear(width, width), nn.ReLU(inplace=True),
        )
        self.density = nn.Linear(width, 1)
        self.colour = nn.Sequential(
            nn.Linear(width + 3 * (1 + 2 * view_octaves), width // 2), nn.ReLU(inplace=True),
            nn.Linear(width // 2, 3), nn.Sigmoid(),
        )

    def forward(self, points, directions):
        hidden = self.body(self.where(points))
        view = self.view(nn.functional.normalize(directions, dim=-1))
        view = view.unsqueeze(1).expand(-1, points.shape[1], -1)
        return self.density(hidden).squeeze(-1), self.colour(torch.cat([hidden, view], -1))


def render(field, origins, directions, samples, near, far, jitter):
    """Colours of rays: alpha compositing of stratified samples over a white ground."""
    edges = torch.linspace(near, far, samples + 1)
    depth = edges[:-1].expand(len(origins), -1)
    step = (far - near) / samples
    depth = depth + step * (torch.rand_like(depth) if jitter else 0.5)
    points = origins.unsqueeze(1) + depth.unsqueeze(-1) * directions.unsqueeze(1)
    density, colour = field(points, directions)

    gaps = torch.cat([depth[:, 1:] - depth[:, :-1], torch.full_like(depth[:, :1], step)], 1)
    optical = nn.functional.softplus(density - 1) * gaps * directions.norm(dim=-1, keepdim=True)
    before = torch.cumsum(optical, 1) - optical
    weights = torch.exp(-before) * (1 - torch.exp(-optical))
    return (weights.unsqueeze(-1) * colour).sum(1) + (1 - weights.sum(1, keepdim=True))
