import math

import torch
from torch import nn
import torch.nn.functional as F


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width, elementwise_affine=False)
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width)
        self.modulate = nn.Linear(width, 2 * width)
        with torch.no_grad():
            self.modulate.bias[:width] += 1
        nn.init.zeros_(self.second.weight)
        nn.init.zeros_(self.second.bias)

    def forward(self, x, condition):
        scale, shift = self.modulate(condition).chunk(2, 1)
        return x + self.second(F.relu(self.first(torch.addcmul(shift, self.norm(x), scale))))


class VelocityField(nn.Module):
    """v(x, t | family) for flow matching; family 0 stands for "any"."""

    def __init__(self, dims, families, width, depth, waves=32):
        super().__init__()
        self.register_buffer("frequency", torch.exp(torch.linspace(0, math.log(200), waves)), persistent=False)
        self.enter = nn.Linear(dims, width)
        self.time = nn.Linear(2 * waves, width)
        self.family = nn.Embedding(families + 1, width)
        self.layers = nn.ModuleList(Layer(width) for _ in range(depth))
        self.leave = nn.Linear(width, dims)

    def forward(self, x, t, family):
        phase = t[:, None] * self.frequency
        condition = F.silu(self.time(torch.cat([phase.cos(), phase.sin()], 1)) + self.family(family))
        x = self.enter(x)
        for layer in self.layers:
            x = layer(x, condition)
        return self.leave(x)


@torch.inference_mode()
def integrate(field, x, family, steps, guidance=1.5):
    """Heun from noise to orbits, with classifier-free guidance in one batch of two halves."""
    both = torch.cat([family, torch.zeros_like(family)])

    def velocity(x, t):
        told, free = field(x.repeat(2, 1), x.new_full((2 * len(x),), t), both).chunk(2)
        return torch.lerp(free, told, guidance)

    h = 1.0 / steps
    for k in range(steps):
        v = velocity(x, k * h)
        ahead = velocity(x + h * v, (k + 1) * h)
        x = x + 0.5 * h * (v + ahead)
    return x
