import numpy as np
import torch


def cut(images, grid):
    """(N, 3, S, S) uint8 -> (N, grid * grid, pixels) uint8 pieces in reading order."""
    n, c, s, _ = images.shape
    p = s // grid
    pieces = images.reshape(n, c, grid, p, grid, p).permute(0, 2, 4, 1, 3, 5)
    return pieces.reshape(n, grid * grid, c * p * p).contiguous()


def load_pieces(path, grid):
    data = np.load(path)
    return tuple(cut(torch.from_numpy(data[k]), grid) for k in ("train", "val"))


def shuffled(pieces, generator=None):
    """Pieces as floats in a random order, with the place that each belongs to."""
    n, k, _ = pieces.shape
    order = torch.rand(n, k, generator=generator).argsort(dim=1)
    rows = torch.arange(n)[:, None]
    return pieces[rows, order].float().mul_(1 / 127.5).sub_(1.0), order


def batches(pieces, batch_size):
    for idx in torch.randperm(len(pieces)).split(batch_size):
        if len(idx) == batch_size:
            yield shuffled(pieces[idx])
