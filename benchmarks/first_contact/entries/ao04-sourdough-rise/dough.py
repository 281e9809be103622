"""Jars of sourdough starter: height, temperature, CO2 and acidity each ten minutes, after feedings of known ratio."""
from dataclasses import dataclass

import torch

SENSORS = 4
STATIC = 3


@dataclass
class Windows:
    """All jars in one tensor; a window is (jar, first tick), cut when it is needed."""
    jars: torch.Tensor      # jars, ticks, sensors
    static: torch.Tensor    # jars, STATIC
    past: int
    ahead: int

    def __post_init__(self):
        self.per_jar = self.jars.shape[1] - self.past - self.ahead + 1
        self.ticks = torch.arange(self.past + self.ahead)

    def __len__(self):
        return len(self.jars) * self.per_jar

    def cut(self, which):
        jar, first = which // self.per_jar, which % self.per_jar
        span = self.jars[jar[:, None], first[:, None] + self.ticks]
        past, future = span[:, :self.past], span[:, self.past:, 0]
        base = past[:, -1:, 0]
        return torch.cat([past.flatten(1), self.static[jar]], 1), future - base


def ferment(jars, ticks, seed):
    g = torch.Generator().manual_seed(seed)
    ratio = torch.rand(jars, generator=g) * 4 + 1
    hydration = 0.8 + 0.4 * torch.rand(jars, generator=g)
    rye = torch.rand(jars, generator=g)
    room = 21 + 4 * torch.randn(jars, generator=g).clamp(-1.5, 1.5)
    yeast, food = torch.full((jars,), 0.15), ratio / 5
    acid, gas, height = torch.full((jars,), 0.2), torch.zeros(jars), torch.ones(jars)
    fed = torch.randint(60, 90, (jars,), generator=g)
    rows = []
    for tick in range(ticks):
        warm = room + 1.5 * torch.sin(torch.tensor(tick / 144 * 6.2832)) + 0.2 * torch.randn(jars, generator=g)
        pace = 0.035 * torch.exp(0.08 * (warm - 24)) * (0.8 + 0.5 * rye)
        eaten = pace * yeast * food / (food + 0.2)
        yeast = (yeast + 0.8 * eaten - 0.004 * yeast * acid).clamp(0.02, 3)
        food = (food - eaten).clamp_min(0)
        acid = acid + 0.4 * eaten
        gas = 0.985 * gas + eaten * 3
        strength = torch.sigmoid(4 * (1.2 - acid)) / hydration
        height = height + 0.1 * (1 + gas * strength * 2.5 - height)
        again = tick % fed == fed - 1
        yeast = torch.where(again, yeast / (1 + ratio), yeast)
        acid = torch.where(again, acid / (1 + ratio), acid)
        food = torch.where(again, food + ratio / 5, food)
        height = torch.where(again, torch.ones(jars), height)
        seen = torch.stack([height, (warm - 24) / 4, gas, acid], 1)
        rows.append(seen + 0.01 * torch.randn(jars, SENSORS, generator=g))
    return torch.stack(rows, 1), torch.stack([ratio / 5, hydration - 1, rye], 1)
