import math

import torch
from torch.nn import functional as F


def pieces(kinds, each, size, seed):
    """Pieces of amber with one inclusion: a body, a number of legs and wings, bubbles, cracks and the colour of
    the resin. The kind fixes body and limbs, the rest is chance."""
    g = torch.Generator().manual_seed(seed)
    axis = torch.linspace(-1, 1, size)
    y, x = torch.meshgrid(axis, axis, indexing="ij")
    traits = torch.rand(kinds, 5, generator=torch.Generator().manual_seed(90))
    pictures = torch.empty(kinds * each, 3, size, size)
    labels = torch.arange(kinds).repeat_interleave(each)
    for i, kind in enumerate(labels.tolist()):
        long, thick, legs, wing, tint = traits[kind].tolist()
        turn, dx, dy = (torch.rand(3, generator=g) * torch.tensor([6.28, 0.5, 0.5]) - torch.tensor([0, 0.25, 0.25])).tolist()
        u = (x - dx) * math.cos(turn) + (y - dy) * math.sin(turn)
        v = (y - dy) * math.cos(turn) - (x - dx) * math.sin(turn)
        radius, angle = (u ** 2 + v ** 2).sqrt(), torch.atan2(v, u)
        body = torch.exp(-((u / (0.2 + 0.4 * long)) ** 2 + (v / (0.08 + 0.2 * thick)) ** 2) * 2)
        limbs = torch.relu(torch.cos(angle * (3 + int(legs * 5)))) ** 6 * torch.exp(-((radius - 0.45) / 0.2) ** 2)
        wings = torch.exp(-((u.abs() - 0.3) / 0.25) ** 2 - ((v - 0.3 * wing) / 0.15) ** 2)
        bubbles = torch.relu(F.interpolate(torch.randn(1, 1, 8, 8, generator=g), size=size, mode="bilinear")[0, 0] - 1)
        dark = (body + 0.6 * limbs + 0.4 * wing * wings).clamp(0, 1)
        resin = torch.tensor([0.9, 0.6, 0.2]) * (0.7 + 0.3 * torch.rand(3, generator=g))
        pictures[i] = resin.view(3, 1, 1) * (1 - dark * (0.5 + 0.5 * tint)) + 0.3 * bubbles
    return pictures + 0.08 * torch.randn(pictures.shape, generator=g), labels


class KindBatches:
    """`kinds` kinds a batch and `each` pieces of each."""

    def __init__(self, labels, kinds, each, batches, seed=0):
        self.rows = [torch.nonzero(labels == k).flatten() for k in range(int(labels.max()) + 1)]
        self.kinds, self.each, self.batches = kinds, each, batches
        self.g = torch.Generator().manual_seed(seed)

    def __len__(self):
        return self.batches

    def __iter__(self):
        for _ in range(self.batches):
            kinds = torch.randperm(len(self.rows), generator=self.g)[:self.kinds]
            yield torch.cat([
                self.rows[k][torch.randperm(len(self.rows[k]), generator=self.g)[:self.each]] for k in kinds.tolist()])
