"""Lander-like point mass: reach the pad softly, mind the wind. Pure Python, one instance."""
import math
import random

import numpy as np


class SoftLanding:
    n_actions = 5
    n_observations = 8

    def __init__(self, seed=0, max_steps=250):
        self.random = random.Random(seed)
        self.max_steps = max_steps

    def reset(self):
        r = self.random
        self.x, self.y = r.uniform(-1, 1), r.uniform(0.8, 1.2)
        self.vx, self.vy = r.uniform(-0.3, 0.3), r.uniform(-0.2, 0.0)
        self.wind, self.fuel, self.t = r.uniform(-0.1, 0.1), 1.0, 0
        return self._observe()

    def _observe(self):
        return np.array([self.x, self.y, self.vx, self.vy, self.wind, self.fuel,
                         math.hypot(self.x, self.y), self.t / self.max_steps], dtype=np.float32)

    def step(self, action):
        ax, ay = ((0, 0), (0, 1.6), (1.0, 0), (-1.0, 0), (0, 3.0))[action]
        if self.fuel <= 0:
            ax = ay = 0
        before = math.hypot(self.x, self.y) + 0.3 * math.hypot(self.vx, self.vy)
        self.fuel -= 0.004 * (abs(ax) + abs(ay))
        self.vx += 0.03 * (ax + self.wind + self.random.gauss(0, 0.05))
        self.vy += 0.03 * (ay - 1.0)
        self.x += 0.03 * self.vx
        self.y += 0.03 * self.vy
        self.t += 1
        after = math.hypot(self.x, self.y) + 0.3 * math.hypot(self.vx, self.vy)
        reward, done = before - after, False
        if self.y <= 0:
            done = True
            reward += 1.0 if abs(self.x) < 0.2 and abs(self.vy) < 0.5 else -1.0
        elif abs(self.x) > 2 or self.y > 2 or self.t >= self.max_steps:
            done, reward = True, reward - 0.5
        return self._observe(), reward, done
