import numpy as np


class Hover:
    """Keep a small thruster craft near the origin; four actions, twelve observations."""

    n_obs, n_act = 12, 4

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.pos = self.rng.uniform(-1, 1, 2)
        self.vel = self.rng.uniform(-0.2, 0.2, 2)
        self.wind = self.rng.uniform(-0.02, 0.02, 2)
        self.t = 0
        self.trail = np.zeros(4)
        return self.observe()

    def observe(self):
        return np.concatenate([self.pos, self.vel, self.wind, self.trail,
                               [self.t / 120, np.hypot(*self.pos)]]).astype(np.float32)

    def step(self, action):
        push = ((0.06, 0.0), (-0.06, 0.0), (0.0, 0.06), (0.0, -0.06))[action]
        self.trail = np.concatenate([self.pos, self.trail[:2]])
        self.vel = 0.95 * self.vel + push + self.wind
        self.pos = self.pos + self.vel
        self.t += 1
        far = np.hypot(*self.pos)
        out = bool(far > 3)
        return self.observe(), float(1.0 - far - 5.0 * out), out, self.t >= 120
