import torch


def temperature(vel, mass):
    return (mass[:, None] * vel ** 2).sum() / (3 * len(vel))


class MeanSquareDisplacement:
    def __init__(self, pos):
        self.start = pos.clone()

    def __call__(self, pos):
        return (pos - self.start).pow(2).sum(1).mean()


class RadialDistribution:
    """Histogram of pair distances up to r_max, averaged over the frames it is given."""

    def __init__(self, box, r_max=2.4, bins=60):
        self.box, self.r_max, self.bins = box, r_max, bins
        self.counts = torch.zeros(bins)
        self.frames = 0

    def update(self, pos):
        i, j = torch.triu_indices(len(pos), len(pos), 1)
        delta = pos[i] - pos[j]
        delta = delta - self.box * torch.round(delta / self.box)
        self.counts += torch.histc(delta.norm(dim=1), self.bins, 0.0, self.r_max)
        self.frames += 1

    def peak(self):
        edges = torch.linspace(0, self.r_max, self.bins + 1)
        shell = edges[1:] ** 3 - edges[:-1] ** 3
        return edges[(self.counts / shell).argmax()].item()
