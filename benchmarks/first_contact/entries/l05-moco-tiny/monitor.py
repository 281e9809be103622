"""Numbers that show whether the embedding space is collapsing."""
import torch


def uniformity(z, t=2.0):
    """Wang & Isola 2020: log of the mean Gaussian potential between pairs."""
    return torch.pdist(z).pow(2).mul(-t).exp().mean().log()


def effective_rank(z):
    """Exponential of the entropy of the normalised singular values (Roy & Vetterli 2007)."""
    s = torch.linalg.svdvals(z - z.mean(0))
    p = s / s.sum()
    return torch.exp(-(p * torch.log(p + 1e-9)).sum())


class CollapseMonitor:
    def __init__(self, sample=2048):
        self.sample = sample
        self.values = {}

    @torch.no_grad()
    def update(self, queue):
        z = queue[: self.sample]
        self.values = {"uniformity": uniformity(z), "rank": effective_rank(z)}

    def __str__(self):
        return " ".join(f"{k} {v.item():.3f}" for k, v in self.values.items())
