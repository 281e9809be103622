"""A little one-legged walker in place of gym and MuJoCo: 11 numbers in, 3 torques out, 20 to 30 microseconds a step; it falls after some 50 steps unless it is steered well."""
import numpy as np


class _Space:
    def __init__(self, size, bound):
        self.shape = (size,)
        self.high = np.full(size, bound, np.float32)
        self.low = -self.high
        self.rng = np.random.RandomState(0)

    def seed(self, seed=None):
        self.rng = np.random.RandomState(seed)

    def sample(self):
        return self.rng.uniform(self.low, self.high).astype(np.float32)


class Leg:
    _max_episode_steps = 1000

    def __init__(self):
        g = np.random.RandomState(11)
        self.pull = g.randn(11, 11) * 0.2
        self.push = g.randn(11, 3) * 0.3
        self.observation_space, self.action_space = _Space(11, np.inf), _Space(3, 1.0)
        self.seed(0)

    def seed(self, seed=None):
        self.rng = np.random.RandomState(seed)

    def reset(self):
        self.state = self.rng.randn(11) * 0.05
        self.count = 0
        return self.state.copy()

    def step(self, action):
        drive = self.pull @ self.state + self.push @ np.clip(action, -1.0, 1.0)
        self.state = 0.97 * self.state + 0.12 * np.tanh(drive) + 0.03 * self.rng.randn(11)
        self.count += 1
        fallen = abs(self.state[1]) > 1.25
        reward = 1.0 + float(self.state[5]) - 1e-3 * float(np.dot(action, action))
        return self.state.copy(), reward, bool(fallen or self.count >= self._max_episode_steps), {}


def make(name):
    return Leg()
