import torch


class NeighborList:
    """All ordered pairs of atoms closer than the cutoff under periodic boundaries."""

    def __init__(self, cutoff, box):
        self.cutoff = cutoff
        self.box = box

    def __call__(self, pos):
        delta = pos[:, None, :] - pos[None, :, :]
        delta = delta - self.box * torch.round(delta / self.box)
        dist2 = delta.pow(2).sum(-1)
        dist2.fill_diagonal_(float("inf"))
        return torch.nonzero(dist2 < self.cutoff ** 2, as_tuple=True)
