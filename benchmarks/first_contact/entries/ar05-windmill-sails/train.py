import json
import math

import torch
from torch import nn
from torch.nn import functional as F

from lion import Lion

torch.manual_seed(1740)

RECORDS, HELD, BATCH, EPOCHS = 122880, 8192, 2048, 20
BANDS, WIDTH, BLOCKS = 6, 48, 9
RATE, DECAY, FLOOR = 4e-4, 0.1, 0.05


def mill_records(number, generator):
    """Wind, sail setting, cloth, stone gap, grain and the like of tower mills, the power at the stones and how
    well the miller's book can be trusted (old entries are rounded and often guessed)."""
    u = torch.rand(number, 9, generator=generator)
    wind, twist, cloth, yaw, gap, damp, taper, age, gust = u.unbind(1)
    speed = 3 + 12 * wind
    tip = 2.2 + 1.5 * twist - 0.4 * taper
    lift = torch.sin(1.3 * tip) * cloth.sqrt() * torch.cos(0.9 * (yaw - 0.5)) ** 2
    drag = 0.3 + 0.5 * gap * damp + 0.1 * torch.sin(9 * taper)
    power = (0.001 * speed ** 3 * lift - drag) * (1 - 0.2 * gust)
    trust = FLOOR + (1 - FLOOR) * torch.exp(-3 * age)
    noise = torch.randn(number, generator=generator) * 0.1 / trust.sqrt()
    return u, power + noise, trust.unsqueeze(1)


class Bands(nn.Module):
    """Fourier bands of each input, with frequencies that are learned."""

    def __init__(self, inputs, bands):
        super().__init__()
        self.frequency = nn.Parameter(torch.arange(1, bands + 1).float().repeat(inputs, 1))

    def forward(self, x):
        angle = math.pi * x.unsqueeze(2) * self.frequency
        return torch.cat([angle.sin(), angle.cos()], 2).flatten(1)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.gate = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.scale = nn.Parameter(torch.full((width,), 0.1))

    def forward(self, x):
        y = self.norm(x)
        return x + self.scale * (torch.sigmoid(self.gate(y)) * self.value(y))


class SailNet(nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.bands = Bands(inputs, BANDS)
        self.enter = nn.Linear(2 * BANDS * inputs, WIDTH)
        self.blocks = nn.Sequential(*(Block(WIDTH) for _ in range(BLOCKS)))
        self.power = nn.Linear(WIDTH, 1)

    def forward(self, x):
        return self.power(self.blocks(self.enter(self.bands(x)))).squeeze(1)


@torch.no_grad()
def evaluate(model, inputs, power):
    error = torch.cat([model(part) for part in inputs.split(4096)]) - power
    return error.square().mean().sqrt().item()


def rate_at(step, total):
    warm = min(1.0, (step + 1) / 100)
    return warm * RATE * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * step / total)))


generator = torch.Generator().manual_seed(3)
inputs, power, trust = mill_records(RECORDS, generator)
held_inputs, held_power, _ = mill_records(HELD, generator)
middle, spread = power.mean(), power.std()
power, held_power = (power - middle) / spread, (held_power - middle) / spread

model = SailNet(inputs.size(1))
optimizer = Lion(model.parameters(), lr=RATE, weight_decay=DECAY)
steps = RECORDS // BATCH
history = []
for epoch in range(EPOCHS):
    total = torch.zeros(())
    for number, rows in enumerate(torch.randperm(RECORDS).split(BATCH)):
        for group in optimizer.param_groups:
            group["lr"] = rate_at(epoch * steps + number, EPOCHS * steps)
        predicted = model(inputs[rows])
        loss = (trust[rows] * F.huber_loss(predicted, power[rows], reduction="none", delta=1.5)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
    history.append({"epoch": epoch, "loss": total.item() / steps, "held": evaluate(model, held_inputs, held_power)})
    print(history[-1], flush=True)

with open("sails.json", "w") as out:
    json.dump(history, out, indent=1)
torch.save(model.state_dict(), "sails.pt")
