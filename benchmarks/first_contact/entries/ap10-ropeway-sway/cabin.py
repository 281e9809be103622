import math

import torch


def rides(number, length, seed):
    """Rides of a cabin: sway and pitch with their rates, pushed by gusts; seen by two clinometers and an
    accelerometer whose noise grows with the wind, next to the tower signals and the anemometer."""
    g = torch.Generator().manual_seed(seed)
    dt, state = 0.25, 0.1 * torch.randn(number, 4, generator=g)
    stiffness = 1.6 + 0.3 * torch.randn(number, 1, generator=g)
    gust = torch.randn(number, 1, generator=g)
    seen, context, truth = [], [], []
    for t in range(length):
        gust = 0.93 * gust + 0.35 * torch.randn(number, 1, generator=g)
        tower = (torch.rand(number, 1, generator=g) < 0.04).float()
        angle, rate = state[:, :2], state[:, 2:]
        push = torch.cat([0.5 * gust, 0.8 * tower], 1)
        rate = rate + dt * (push - stiffness * angle - 0.12 * rate)
        state = torch.cat([angle + dt * rate, rate], 1)
        noise = 0.05 + 0.15 * gust.abs()
        reading = torch.cat([state[:, :2], (push - stiffness * state[:, :2])[:, :1]], 1)
        seen.append(reading + noise * torch.randn(number, 3, generator=g))
        wind = gust + 0.3 * torch.randn(number, 1, generator=g)
        phase = torch.full((number, 1), 2 * math.pi * t / length)
        context.append(torch.cat([wind, tower, phase.sin(), phase.cos()], 1))
        truth.append(state)
    return torch.stack(seen, 1), torch.stack(context, 1), torch.stack(truth, 1)
