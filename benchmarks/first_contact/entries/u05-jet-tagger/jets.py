"""Toy jets: a cascade of splittings gives each jet its hardest particles."""
import torch

CLASSES = ["light", "gluon", "boson", "top"]
PRONGS = torch.tensor([1, 1, 2, 3])
SPREAD = torch.tensor([0.05, 0.11, 0.05, 0.06])


def shower(label, particles, generator):
    """Momenta and angles of the hardest particles of every jet."""
    n = len(label)
    prong = (torch.rand(n, particles, generator=generator) * PRONGS[label][:, None]).long()
    axes = torch.randn(n, 3, 2, generator=generator) * 0.35
    axes[label < 2] = 0.0
    soft = torch.rand(n, particles, generator=generator).pow(3) + 0.01
    width = SPREAD[label][:, None, None] / soft.unsqueeze(-1).sqrt()
    place = axes.gather(1, prong.unsqueeze(-1).expand(-1, -1, 2))
    angle = place + width * torch.randn(n, particles, 2, generator=generator)
    momentum = 400 * soft / soft.sum(1, keepdim=True)
    order = momentum.argsort(dim=1, descending=True)
    return momentum.gather(1, order), angle.gather(1, order.unsqueeze(-1).expand(-1, -1, 2)), order


class JetSet:
    """Everything per jet is computed once; batches are rows of two tensors."""

    def __init__(self, count, particles=32, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, len(CLASSES), (count,), generator=g)
        momentum, angle, _ = shower(self.labels, particles, g)
        share = momentum / momentum.sum(1, keepdim=True)
        centre = (share.unsqueeze(-1) * angle).sum(1, keepdim=True)
        angle = angle - centre
        distance = angle.norm(dim=-1)
        kind = torch.randint(0, 3, (count, particles), generator=g)
        columns = [
            momentum.log() / 3, share.log() / 3, angle[..., 0], angle[..., 1], distance,
            (kind == 0).float(), (kind == 1).float(), (kind == 2).float(),
        ]
        self.particles = torch.stack(columns, dim=-1)
        self.share = share.unsqueeze(1)

    def __len__(self):
        return len(self.labels)

    def batches(self, size, generator=None):
        """Shuffled full batches if there is a generator, else all jets in order."""
        if generator is None:
            rows = torch.arange(len(self)).split(size)
        else:
            rows = torch.randperm(len(self), generator=generator).split(size)[:len(self) // size]
        for chosen in rows:
            yield self.particles[chosen], self.share[chosen], self.labels[chosen]
