"""Small stand-in with the old gym interface: a chain of six damped joints with 22 observations and 6 actions, as RoboschoolWalker2d has; a step costs about 0.1 ms of numpy, a quarter of what MuJoCo needs."""
import numpy as np


class Box:
    def __init__(self, low, high, shape):
        self.shape, self.low, self.high = shape, np.full(shape, low, np.float32), np.full(shape, high, np.float32)
        self.rng = np.random.default_rng(0)

    def seed(self, s):
        self.rng = np.random.default_rng(s)

    def sample(self):
        return self.rng.uniform(self.low, self.high).astype(np.float32)


class Chain:
    _max_episode_steps = 1000

    def __init__(self):
        self.observation_space, self.action_space = Box(-np.inf, np.inf, (22,)), Box(-1, 1, (6,))
        self.rng = np.random.default_rng(0)

    def seed(self, s):
        self.rng = np.random.default_rng(s)

    def _obs(self):
        return np.concatenate([self.q, self.v, [self.x, self.vx, np.sin(self.q).sum(), np.cos(self.q).sum(), self.t / 1000, *self.q[:5]]])

    def reset(self):
        self.q, self.v = self.rng.normal(0, .1, 6), self.rng.normal(0, .1, 6)
        self.x = self.vx = 0.0
        self.t = 0
        return self._obs()

    def step(self, a):
        a = np.clip(a, -1, 1)
        for _ in range(5):
            acc = 4 * a - 2 * np.sin(self.q) - 0.4 * self.v + 0.5 * (np.roll(self.q, 1) - self.q)
            self.v = self.v + 0.01 * acc
            self.q = self.q + 0.01 * self.v
            self.vx = 0.98 * self.vx + 0.01 * float((self.v[:-1] * np.sin(self.q[1:])).sum())
            self.x += 0.01 * self.vx
        self.t += 1
        return self._obs(), self.vx - 0.1 * float(a @ a), self.t >= self._max_episode_steps, {}

    def close(self):
        pass


def make(name):
    return Chain()
