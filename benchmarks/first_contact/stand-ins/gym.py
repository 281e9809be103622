"""Stand-in with gym's reset/step forms: CartPole, Pendulum, and a made-up walker (the old form)."""
import numpy as np


class _Box:
    def __init__(self, n, high):
        self.shape, self.high, self.low = (n,), np.full(n, high, np.float32), np.full(n, -high, np.float32)

    def seed(self, s):
        pass

    def sample(self):
        return np.random.uniform(self.low, self.high).astype(np.float32)


class CartPole:
    def reset(self):
        self.s = np.random.uniform(-0.05, 0.05, 4)
        self.n = 0
        return self.s.astype(np.float32), {}

    def step(self, a):
        x, v, th, w = self.s
        f = 10.0 if a == 1 else -10.0
        c, s = np.cos(th), np.sin(th)
        t = (f + 0.05 * w * w * s) / 1.1
        ta = (9.8 * s - c * t) / (0.5 * (4.0 / 3.0 - 0.1 * c * c / 1.1))
        xa = t - 0.05 * ta * c / 1.1
        self.s = np.array([x + 0.02 * v, v + 0.02 * xa, th + 0.02 * w, w + 0.02 * ta])
        self.n += 1
        done = bool(abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.2095 or self.n >= 500)
        return self.s.astype(np.float32), 1.0, done, False, {}

    def close(self):
        pass


class Pendulum:
    def reset(self):
        self.th, self.w = np.random.uniform(-np.pi, np.pi), np.random.uniform(-1, 1)
        return self._obs(), {}

    def _obs(self):
        return np.array([np.cos(self.th), np.sin(self.th), self.w], dtype=np.float32)

    def step(self, u):
        u = np.clip(u, -2, 2)[0]
        th = ((self.th + np.pi) % (2 * np.pi)) - np.pi
        r = -(th * th + 0.1 * self.w**2 + 0.001 * u * u)
        self.w = np.clip(self.w + (15 * np.sin(self.th) + 3 * u) * 0.05, -8, 8)
        self.th += self.w * 0.05
        return self._obs(), r, False, False, {}

    def close(self):
        pass


class Walker:
    """22 numbers in, 6 out, and about 30 us a step of linear dynamics."""

    _max_episode_steps = 1000

    def __init__(self, obs=22, act=6):
        g = np.random.RandomState(0)
        self.A = g.randn(obs, obs) * 0.2
        self.B = g.randn(obs, act) * 0.3
        self.observation_space, self.action_space = _Box(obs, 10.0), _Box(act, 1.0)

    def seed(self, s):
        pass

    def reset(self):
        self.s = np.random.randn(self.A.shape[0]) * 0.1
        self.n = 0
        return self.s.astype(np.float32)

    def step(self, a):
        self.s = np.tanh(self.A @ self.s + self.B @ np.asarray(a) + 0.01 * np.random.randn(self.A.shape[0]))
        self.n += 1
        done = self.n >= 1000 or bool(np.random.rand() < 0.004)
        return self.s.astype(np.float32), float(self.s[0] - 0.1 * np.square(a).sum()), done, {}

    def close(self):
        pass


def make(name):
    if name.startswith("CartPole"):
        return CartPole()
    if name.startswith("Pendulum"):
        return Pendulum()
    return Walker()
