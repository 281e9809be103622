"""Synthetic geostationary infrared scenes with line-shaped contrails over cirrus."""
import math

import torch
import torch.nn.functional as F

CHANNELS = 3          # 8.7, 10.8 and 12.0 micrometres


def cirrus(n, side, gen):
    base = torch.zeros(n, CHANNELS, side, side)
    for cells, weight in ((4, 1.0), (12, 0.6), (32, 0.25)):
        coarse = torch.randn(n, CHANNELS, cells, cells, generator=gen)
        base += weight * F.interpolate(coarse, size=(side, side), mode="bicubic", align_corners=False)
    return base


def make_scenes(n, side=96, seed=0, most=4):
    gen = torch.Generator().manual_seed(seed)
    images = cirrus(n, side, gen)
    axis = torch.linspace(-1, 1, side)
    yy, xx = torch.meshgrid(axis, axis, indexing="ij")
    cover = torch.zeros(n, side, side)
    heading = torch.zeros(n, 2, side, side)
    count = torch.randint(0, most + 1, (n,), generator=gen)
    for k in range(most):
        theta = torch.rand(n, generator=gen) * math.pi
        offset = torch.rand(n, generator=gen) * 1.6 - 0.8
        width = 0.02 + 0.05 * torch.rand(n, generator=gen)
        cold = 0.8 + torch.rand(n, generator=gen)
        c, s = theta.cos(), theta.sin()
        away = c[:, None, None] * xx + s[:, None, None] * yy - offset[:, None, None]
        profile = torch.exp(-0.5 * (away / width[:, None, None]) ** 2) * (k < count)[:, None, None]
        images[:, 0] -= 0.6 * cold[:, None, None] * profile
        images[:, 1] -= 1.0 * cold[:, None, None] * profile
        images[:, 2] += 0.5 * cold[:, None, None] * profile
        stronger = profile > cover
        doubled = torch.stack([(2 * theta).cos(), (2 * theta).sin()], 1)[:, :, None, None]
        heading = torch.where(stronger[:, None], doubled, heading)
        cover = torch.maximum(cover, profile)
    images += 0.15 * torch.randn(images.shape, generator=gen)
    return images.half(), cover > 0.5, heading.half()


class SceneArchive:
    def __init__(self, n, side, seed):
        self.images, self.masks, self.headings = make_scenes(n, side, seed)

    def __len__(self):
        return len(self.images)

    def batches(self, size, gen=None):
        order = torch.arange(len(self)) if gen is None else torch.randperm(len(self), generator=gen)
        for index in order.split(size):
            if len(index) < size:
                return
            image = self.images[index].float()
            mask = self.masks[index].float()
            heading = self.headings[index].float()
            if gen is not None:
                if torch.rand((), generator=gen) < 0.5:
                    image, mask, heading = image.flip(-1), mask.flip(-1), heading.flip(-1)
                    heading = heading * heading.new_tensor([1.0, -1.0])[None, :, None, None]
                if torch.rand((), generator=gen) < 0.5:
                    image, mask, heading = image.flip(-2), mask.flip(-2), heading.flip(-2)
                    heading = heading * heading.new_tensor([1.0, -1.0])[None, :, None, None]
            yield image, mask, heading
