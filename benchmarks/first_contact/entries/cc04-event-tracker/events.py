"""Event-camera streams of a disc that bounces around the field of view."""
import torch


class StreamFarm:
    """Several independent sensors that run on for ever."""

    def __init__(self, sensors, size, radius=3.0, speed=0.6, seed=0):
        self.generator = torch.Generator().manual_seed(seed)
        self.size = size
        self.radius = radius
        self.position = radius + (size - 2 * radius) * torch.rand(sensors, 2, generator=self.generator)
        angle = 6.2832 * torch.rand(sensors, generator=self.generator)
        pace = speed * (0.6 + 0.8 * torch.rand(sensors, generator=self.generator))
        self.velocity = torch.stack([pace * angle.cos(), pace * angle.sin()], 1)
        axis = torch.arange(size, dtype=torch.float32)
        self.axis = axis
        self.disc = self._cover(self.position[None])[0]

    def _cover(self, positions):
        dy = (self.axis - positions[..., 0:1]) ** 2
        dx = (self.axis - positions[..., 1:2]) ** 2
        return dy[..., :, None] + dx[..., None, :] < self.radius ** 2

    def _advance(self):
        turn = 0.05 * torch.randn(len(self.velocity), generator=self.generator)
        c, s = turn.cos(), turn.sin()
        vy, vx = self.velocity.unbind(1)
        self.velocity = torch.stack([c * vy - s * vx, s * vy + c * vx], 1)
        self.position = self.position + self.velocity
        low, high = self.radius, self.size - 1 - self.radius
        outside = (self.position < low) | (self.position > high)
        self.velocity = torch.where(outside, -self.velocity, self.velocity)
        self.position = self.position.clamp(low, high)
        return self.position

    def bins(self, count):
        """Events of the next `count` bins [count, sensors, 2, size, size], state at their end."""
        discs = self._cover(torch.stack([self._advance() for _ in range(count)]))
        before = torch.cat([self.disc[None], discs[:-1]])
        self.disc = discs[-1]
        events = torch.stack([discs & ~before, before & ~discs], 2).float()
        state = torch.cat([2 * self.position / (self.size - 1) - 1, self.velocity], 1)
        return events, state
