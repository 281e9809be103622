"""Many log rafts drifting down made-up rivers at once (numpy, one array entry a raft)."""
import numpy as np

LOOK = 6


class Rafts:
    observation = 6 + LOOK
    action = 2

    def __init__(self, count, seed, reach=400, length=2000):
        self.n, self.reach, self.length = count, reach, length
        self.rng = np.random.default_rng(seed)
        s = np.arange(length, dtype=np.float32)
        waves = self.rng.uniform(60, 300, (5, 1)).astype(np.float32)
        phase = self.rng.uniform(0, 6.28, (5, 1)).astype(np.float32)
        self.bend = (0.022 * np.sin(6.28 * s / waves + phase)).sum(0).astype(np.float32)
        self.width = (9 + 3 * np.sin(s / 47.0)).astype(np.float32)
        self.ahead = np.arange(1, LOOK + 1, dtype=np.int64) * 8
        self.place = np.zeros(count, np.float32)
        self.across = np.zeros(count, np.float32)
        self.heading = np.zeros(count, np.float32)
        self.speed = np.zeros(count, np.float32)
        self.spin = np.zeros(count, np.float32)
        self.age = np.zeros(count, np.int64)
        self.obs = np.zeros((count, self.observation), np.float32)
        self.launch(np.ones(count, bool))
        self.age[:] = self.rng.integers(0, reach, count)

    def launch(self, which):
        k = int(which.sum())
        if not k:
            return
        r = self.rng
        self.place[which] = r.uniform(0, self.length, k)
        self.across[which] = r.uniform(-3, 3, k)
        self.heading[which] = r.normal(0, 0.1, k)
        self.speed[which] = r.uniform(1, 3, k)
        self.spin[which] = 0
        self.age[which] = 0

    def look(self):
        o = self.obs
        at = self.place.astype(np.int64)
        o[:, 0] = self.across * 0.1
        o[:, 1] = np.sin(self.heading)
        o[:, 2] = np.cos(self.heading)
        o[:, 3] = self.speed * 0.3
        o[:, 4] = self.spin * 5
        o[:, 5] = self.width[at % self.length] * 0.1
        o[:, 6:] = self.bend[(at[:, None] + self.ahead) % self.length] * 20
        return o

    def step(self, action):
        push = np.clip(action, -1, 1)
        at = self.place.astype(np.int64) % self.length
        half = self.width[at]
        current = 2.2 * (1 - 0.6 * np.square(self.across / half))
        self.spin = 0.85 * self.spin + 0.03 * push[:, 0] + self.rng.normal(0, 0.004, self.n).astype(np.float32)
        self.speed = np.clip(self.speed + 0.15 * push[:, 1] + 0.1 * (current - self.speed), 0, 5)
        forward = self.speed * np.cos(self.heading)
        self.heading += self.spin - self.bend[at] * forward
        self.across += self.speed * np.sin(self.heading)
        self.place = np.mod(self.place + forward, self.length).astype(np.float32)
        self.age += 1
        aground = np.abs(self.across) > half
        reward = (0.3 * forward - 0.02 * np.square(push).sum(1) - 0.15 * np.abs(self.across) / half - 4.0 * aground).astype(np.float32)
        over = aground | (self.age >= self.reach)
        self.launch(over)
        return self.look(), reward, aground, over
