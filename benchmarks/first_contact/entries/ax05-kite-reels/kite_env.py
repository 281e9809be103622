"""A batch of pumping kites: tether length, elevation and azimuth on the sphere, reel speed; power is tension times reel speed."""
import torch


class KiteFleet:
    observation, action = 10, 2

    def __init__(self, count, seed, limit=200, dt=0.1):
        self.count, self.limit, self.dt = count, limit, dt
        self.generator = torch.Generator().manual_seed(seed)
        self.state = self._fresh(count)
        self.age = torch.randint(0, limit, (count,), generator=self.generator)

    def _fresh(self, n):
        # columns: elevation, azimuth, their speeds, length/100, heading sin, heading cos, wind/10
        r = torch.rand(n, 8, generator=self.generator)
        low = torch.tensor([0.4, -0.3, -0.05, -0.05, 1.2, -0.2, 0.9, 0.7])
        high = torch.tensor([0.9, 0.3, 0.05, 0.05, 1.8, 0.2, 1.0, 1.3])
        return low + (high - low) * r

    def observe(self):
        elevation, azimuth = self.state[:, 0], self.state[:, 1]
        return torch.cat([self.state, torch.stack([elevation.cos() * azimuth.cos(), azimuth * azimuth], 1)], 1)

    def step(self, action):
        steer, reel = action.clamp(-1.0, 1.0).unbind(1)
        el, az, el_v, az_v, length, hs, hc, wind = self.state.unbind(1)
        apparent = wind * el.cos() * az.cos() - 0.3 * reel
        pull = apparent * apparent.abs()
        gain = self.dt * pull / length
        hs, hc = hs + self.dt * steer * hc * apparent, hc - self.dt * steer * hs * apparent
        size = torch.rsqrt(hs * hs + hc * hc)
        hs, hc = hs * size, hc * size
        el_v = 0.95 * el_v + gain * (0.4 * hc - 0.2)
        az_v = 0.95 * az_v + gain * 0.4 * hs
        el, az, length = el + self.dt * el_v, az + self.dt * az_v, length + 0.03 * self.dt * reel
        gust = torch.randn(self.count, generator=self.generator)
        wind = wind + 0.05 * self.dt * (1.0 - wind) + 0.01 * gust
        self.state = torch.stack([el, az, el_v, az_v, length, hs, hc, wind], 1)
        self.age += 1
        crash = (el < 0.08) | (el > 1.5) | (az.abs() > 1.2) | (length < 0.6) | (length > 2.6)
        reward = pull * reel * self.dt - 0.02 * steer * steer - 2.0 * crash
        done = crash | (self.age >= self.limit)
        ended = done.nonzero().squeeze(1)
        if len(ended):
            self.state[ended] = self._fresh(len(ended))
            self.age[ended] = 0
        return self.observe(), reward, done
