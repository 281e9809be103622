"""Random changes to whole batches of profiles, a different draw for each vessel and each time."""
import math

import torch


def break_up(points, generator, shortest=0.3, longest=0.8):
    """A random piece of every profile, resampled to the full number of points."""
    batch, length, channels = points.shape
    share = torch.empty(batch, 1).uniform_(shortest, longest, generator=generator)
    start = torch.rand(batch, 1, generator=generator) * (1 - share)
    where = (start + share * torch.linspace(0, 1, length)) * (length - 1)
    below = where.long().clamp_(max=length - 2)
    weight = (where - below).unsqueeze(2)
    below = below.unsqueeze(2).expand(-1, -1, channels)
    return torch.lerp(points.gather(1, below), points.gather(1, below + 1), weight)


def redraw(points, generator, tilt=6.0, noise=0.02):
    """What a second draughtsman would have drawn: other scale, other stance, unsteady hand, a chipped surface."""
    batch, length, _ = points.shape
    angle = torch.empty(batch, 1).uniform_(-tilt, tilt, generator=generator) * (math.pi / 180)
    size = torch.empty(batch, 1).uniform_(0.85, 1.15, generator=generator)
    cos, sin = angle.cos() * size, angle.sin() * size
    radius, height, wall, bend = points.unbind(2)
    turned = torch.stack([cos * radius - sin * height, sin * radius + cos * height, size * wall, bend], dim=2)
    turned += noise * torch.randn(turned.shape, generator=generator)
    first = torch.randint(length, (batch, 1), generator=generator)
    span = torch.randint(4, 17, (batch, 1), generator=generator)
    place = torch.arange(length)
    chipped = (place >= first) & (place < first + span)
    return turned.masked_fill(chipped.unsqueeze(2), 0.0)


def settle(points):
    """Radius and height relative to the piece's middle: a sherd does not tell where in the vessel it sat."""
    middle = points.mean(1, keepdim=True)
    middle[..., 2:] = 0
    return points - middle
