"""Simulated homing flights: a pigeon is released at one of 24 sites and flies to the loft."""
import math

import torch

FEATURES = 8


def simulate(count, length, seed):
    g = torch.Generator().manual_seed(seed)
    sites = torch.randn(24, 2, generator=g) * 18.0
    site = torch.randint(0, 24, (count,), generator=g)
    bias = torch.randn(24, generator=g) * 0.5
    wind = torch.randn(count, 2, generator=g) * 2.5
    sun = torch.rand(count, generator=g) * 1.1 + 0.1
    experience = torch.rand(count, generator=g)

    here = sites[site] + torch.randn(count, 2, generator=g) * 0.6
    start = here.clone()
    heading = torch.rand(count, generator=g) * 2 * math.pi
    rows = []
    for tick in range(length):
        home = torch.atan2(-here[:, 1], -here[:, 0])
        error = bias[site] * (1.2 - experience) * math.exp(-tick / 40)
        want = home + error + 0.4 * (1.2 - sun) * torch.randn(count, generator=g)
        turn = torch.remainder(want - heading + math.pi, 2 * math.pi) - math.pi
        turn = turn * (0.12 + 0.2 * experience) + 0.08 * torch.randn(count, generator=g)
        heading = heading + turn
        speed = 1.0 + 0.2 * experience + 0.06 * torch.randn(count, generator=g)
        move = torch.stack([heading.cos(), heading.sin()], 1) * speed[:, None] * 0.3 + 0.02 * wind
        here = here + move
        rows.append(torch.cat([move, turn[:, None], speed[:, None], wind * 0.2, sun[:, None], (here - start) * 0.1], 1)[:, :FEATURES])
    track = torch.stack(rows, 1)
    left = torch.atan2(-here[:, 1], -here[:, 0])
    far = here.norm(dim=1).log()
    return track, left, far


def rotate(track, left, g):
    """The map has no preferred direction: turn every flight by an angle of its own."""
    angle = torch.rand(len(track), generator=g) * 2 * math.pi
    c, s = angle.cos()[:, None], angle.sin()[:, None]
    out = track.clone()
    for a, b in ((0, 1), (4, 5)):
        out[..., a] = c * track[..., a] - s * track[..., b]
        out[..., b] = s * track[..., a] + c * track[..., b]
    return out, left + angle
