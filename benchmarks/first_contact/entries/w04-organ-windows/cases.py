"""Made-up scans of an abdomen: a few smooth organs in noise, on grids of different spacing."""
from dataclasses import dataclass

import torch

ORGANS = ["background", "liver", "spleen", "left kidney", "right kidney"]
TYPICAL = torch.tensor([0.0, 0.9, 0.6, 0.35, 0.4])
PLACES = torch.tensor([[0.5, 0.5, 0.5], [0.45, 0.4, 0.28], [0.4, 0.35, 0.75], [0.6, 0.65, 0.68], [0.6, 0.65, 0.35]])
SIZES = torch.tensor([[0.0, 0.0, 0.0], [0.25, 0.2, 0.2], [0.16, 0.12, 0.12], [0.14, 0.1, 0.08], [0.14, 0.1, 0.08]])


@dataclass
class Case:
    name: str
    scan: torch.Tensor        # depth, height, width in Hounsfield-like units
    labels: torch.Tensor
    spacing: tuple            # millimetres


def draw_case(number, seed=0):
    g = torch.Generator().manual_seed(1000 * seed + number)
    depth = int(torch.randint(44, 60, (), generator=g))
    side = int(torch.randint(100, 124, (), generator=g))
    spacing = (3.0 * 52 / depth, 1.5 * 112 / side, 1.5 * 112 / side)
    axes = [torch.linspace(0, 1, n) for n in (depth, side, side)]
    grid = torch.stack(torch.meshgrid(*axes, indexing="ij"), -1)
    labels = torch.zeros(depth, side, side, dtype=torch.long)
    for organ in range(1, len(ORGANS)):
        centre = PLACES[organ] + 0.04 * torch.randn(3, generator=g)
        size = SIZES[organ] * (0.85 + 0.3 * torch.rand(3, generator=g))
        ripple = 0.15 * torch.sin(14 * grid[..., 1] + 9 * grid[..., 2] + 6 * torch.rand((), generator=g))
        inside = ((grid - centre) / size).square().sum(-1) + ripple < 1
        labels[inside] = organ
    body = ((grid[..., 1:] - 0.5) / 0.46).square().sum(-1) < 1
    scan = TYPICAL[labels] + 0.15 * body + 0.25 * torch.randn(labels.shape, generator=g)
    return Case(f"case_{number:03d}", 400 * scan - 100, labels, spacing)
