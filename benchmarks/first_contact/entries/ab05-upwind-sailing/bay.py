"""A bay full of boats that beat upwind to a mark, all moved at once."""
import math

import torch

TURNS = torch.tensor([-0.35, -0.12, 0.0, 0.12, 0.35])

# ranges at the start: x, y, x of the mark, y of the mark, heading, wind, speed, age
LOW = torch.tensor([-1.0, 0.0, -1.0, 3.0, -math.pi / 2, -0.3, 0.3, 0.0])[:, None]
SPAN = torch.tensor([2.0, 0.5, 2.0, 1.0, math.pi, 0.6, 0.0, 0.0])[:, None]


class Bay:
    observations, actions = 9, len(TURNS)

    def __init__(self, boats, generator, limit=80):
        self.n, self.generator, self.limit = boats, generator, limit
        self.state = self._fresh()
        self.distance = self._distance()

    def _fresh(self):
        return torch.addcmul(LOW, SPAN, torch.rand(len(LOW), self.n, generator=self.generator))

    def _distance(self):
        return torch.linalg.vector_norm(self.state[2:4] - self.state[:2], dim=0)

    def scatter_ages(self):
        self.state[7] = torch.rand(self.n, generator=self.generator)

    def observe(self):
        """(boats, 9): way to the mark, sines and cosines of two angles, wind, speed, age."""
        s = self.state
        angles = torch.stack([s[4] - s[5], s[4]])
        return torch.cat([s[2:4] - s[:2], angles.sin(), angles.cos(), s[5:]]).T

    def step(self, action):
        s = self.state
        heading, wind, speed, age = s[4], s[5], s[6], s[7]
        heading += TURNS[action]
        pull = (0.85 - (heading - wind).cos()).clamp_(0.0, 1.0)
        speed.lerp_(pull, 0.15)
        s[:2].addcmul_(torch.stack([heading.sin(), heading.cos()]), speed, value=0.3)
        wind.add_(torch.randn(self.n, generator=self.generator), alpha=0.03)
        age += 1.0 / self.limit
        after = self._distance()
        there = after < 0.25
        reward = 5.0 * (self.distance - after + there) - 0.02
        done = there | (age >= 1.0)
        self.state = torch.where(done, self._fresh(), s)
        self.distance = self._distance()
        return reward, done, there
