"""Concentrations of a pollutant below an industrial site, sampled at many places."""
import torch

SOURCES = torch.tensor([[0.15, 0.30], [0.25, 0.75], [0.45, 0.50], [0.70, 0.20]], dtype=torch.float64)
STRENGTH = torch.tensor([1.0, 0.7, 1.3, 0.5], dtype=torch.float64)


def concentration(place):
    """Steady plumes drifting east, spreading with the distance, on a sloping background."""
    east = place[:, None, 0] - SOURCES[:, 0]
    north = place[:, None, 1] - SOURCES[:, 1] - 0.15 * torch.sin(4 * place[:, None, 0])
    spread = 0.05 + 0.12 * torch.nn.functional.softplus(8 * east) / 8
    head = torch.sigmoid(30 * east)
    plumes = STRENGTH * head * torch.exp(-0.5 * (north / spread) ** 2) * (0.05 / spread).sqrt()
    return plumes.sum(-1) + 0.3 * place[:, 0] - 0.2 * place[:, 1]


def draw(count, noise, seed):
    """Places in the unit square, and standardised noisy concentrations."""
    g = torch.Generator().manual_seed(seed)
    place = torch.rand(count, 2, generator=g, dtype=torch.float64)
    value = (concentration(place) - 0.5) / 0.4
    return place, value + noise * torch.randn(count, generator=g, dtype=torch.float64)
