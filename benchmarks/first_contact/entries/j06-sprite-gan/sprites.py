"""Procedural 32x32 sprites: coloured discs, rings and boxes on a gradient."""
import torch


def make_sprites(n, size=32, seed=0):
    g = torch.Generator().manual_seed(seed)
    axis = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(axis, axis, indexing="ij")

    def uniform(low, high, *shape):
        return low + (high - low) * torch.rand(n, *shape, generator=g)

    cx, cy, r = uniform(-.4, .4, 1, 1), uniform(-.4, .4, 1, 1), uniform(.25, .55, 1, 1)
    dx, dy = xx - cx, yy - cy
    distance = (dx.square() + dy.square()).sqrt()
    disc = distance < r
    ring = disc & (distance > 0.6 * r)
    box = torch.maximum(dx.abs(), dy.abs()) < 0.8 * r
    kind = torch.randint(3, (n,), generator=g)
    mask = torch.stack([disc, ring, box], 1)[torch.arange(n), kind].unsqueeze(1).float()
    colour, ground = uniform(-1, 1, 3, 1, 1), uniform(-.6, .6, 3, 1, 1)
    return mask * colour + (1 - mask) * (ground + 0.3 * yy)


def endless(images, batch_size, seed=0):
    g = torch.Generator().manual_seed(seed)
    while True:
        for rows in torch.randperm(len(images), generator=g).split(batch_size):
            if len(rows) == batch_size:
                yield images[rows]
