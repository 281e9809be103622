import numpy as np


class SledTrack:
    """A point-mass bobsled in a banked chute. State: 6 chute coordinates and rates + 12 runner strain gauges."""

    obs_dim, act_dim = 18, 3

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.bends = np.cumsum(self.rng.normal(0, 0.2, 4000)).astype(np.float32)
        self.mix = self.rng.normal(0, 0.3, (6, 12)).astype(np.float32)
        self.reset()

    def reset(self):
        self.s = np.array([0.0, 0.0, 6.0, 0.0, 0.0, 0.0], np.float32)
        return self._obs()

    def _obs(self):
        gauges = np.tanh(self.s @ self.mix) + 0.02 * self.rng.standard_normal(12)
        return np.concatenate([self.s, gauges]).astype(np.float32)

    def step(self, a):
        along, height, v, vh, yaw, vyaw = self.s
        bend = self.bends[int(along) % 4000]
        steer, brake, lean = np.clip(a, -1, 1)
        v = v + 0.05 * (2.0 - 0.02 * v * v - 2.5 * max(brake, 0.0))
        vh = vh + 0.05 * (0.05 * bend * v * v * 0.1 - 4.0 * height + 2.0 * lean)
        vyaw = vyaw + 0.05 * (3.0 * steer - 2.0 * yaw - 0.5 * vyaw)
        self.s = np.array([along + 0.05 * v, height + 0.05 * vh, v, vh, yaw + 0.05 * vyaw, vyaw], np.float32)
        self.s += 0.01 * self.rng.standard_normal(6).astype(np.float32)
        done = abs(self.s[1]) > 2.5 or self.s[0] > 1500
        return self._obs(), -abs(self.s[1]), bool(done)
