import torch
from torch import nn


def dense(sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


class ParticleFlow(nn.Module):
    """Each particle by itself, then the jet by the momentum-weighted sum of its particles."""

    def __init__(self, features, classes, width=224, summary=256):
        super().__init__()
        self.particle = dense([features, width, width, width])
        self.jet = nn.Sequential(
            dense([2 * width, summary, summary]), nn.Dropout(0.1), nn.Linear(summary, classes)
        )

    def forward(self, particles, share):
        seen = self.particle(particles.flatten(0, 1)).view(*particles.shape[:2], -1)
        weighted = torch.bmm(share, seen).squeeze(1)
        return self.jet(torch.cat([weighted, seen.mean(dim=1)], dim=-1))
