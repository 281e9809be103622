"""Celadon glazes with craquelure: pictures and the masks of their cracks, drawn from Voronoi cells."""
import torch


def tiles(count, size=64, seed=0):
    g = torch.Generator().manual_seed(seed)
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    grid = torch.stack([yy, xx], -1).reshape(-1, 2).float()
    images, masks = torch.empty(count, 3, size, size), torch.empty(count, 1, size, size)
    for k in range(count):
        seeds = torch.rand(14, 2, generator=g) * size
        near = torch.cdist(grid, seeds).topk(2, largest=False).values
        crack = ((near[:, 1] - near[:, 0]) < 1.4).float().view(size, size)
        stain = torch.rand(1, generator=g) * 0.5 + 0.1
        glaze = torch.tensor([0.55, 0.68, 0.6])[:, None, None] + 0.06 * torch.randn(3, size, size, generator=g)
        shade = torch.nn.functional.interpolate(torch.randn(1, 1, 5, 5, generator=g), size=(size, size), mode="bicubic")[0]
        images[k] = glaze + 0.08 * shade - stain * crack
        masks[k, 0] = crack
    return images, masks
