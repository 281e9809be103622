"""Many container yards at once, stepped together with numpy.

A yard has `stacks` places, each of them `height` boxes high. A box comes with a departure class (1 leaves first) and
the crane has to choose a stack for it. When the yard is filled to its working level, the box with the lowest class
leaves; every box on top of it costs one reshuffle.
"""
import numpy as np


class YardBatch:
    def __init__(self, arrivals, number, stacks=8, height=5, level=28, seed=0):
        self.arrivals = arrivals
        self.number, self.stacks, self.height, self.level = number, stacks, height, level
        self.rng = np.random.default_rng(seed)
        self.rows = np.arange(number)
        self.slots = np.arange(height)
        self.grid = np.zeros((number, stacks, height), np.int8)
        self.day = np.zeros(number, np.int64)
        self.hour = np.zeros(number, np.int64)
        self.length = arrivals.shape[1]

    def reset(self):
        self.grid[:] = 0
        self.day[:] = self.rng.integers(0, len(self.arrivals), self.number)
        self.hour[:] = self.rng.integers(0, self.length // 2, self.number)
        return self.observe()

    def observe(self):
        box = self.arrivals[self.day, self.hour]
        return np.concatenate([self.grid.reshape(self.number, -1), box[:, None]], 1)

    def allowed(self):
        return (self.grid > 0).sum(2) < self.height

    def step(self, stack):
        heights = (self.grid > 0).sum(2)
        self.grid[self.rows, stack, heights[self.rows, stack]] = self.arrivals[self.day, self.hour]
        reward = np.zeros(self.number, np.float32)

        filled = (self.grid > 0).sum((1, 2))
        leave = np.flatnonzero(filled > self.level)
        if len(leave):
            yards = self.grid[leave]
            flat = np.where(yards > 0, yards, 100).reshape(len(leave), -1)
            first = flat.argmin(1)
            stack, slot = first // self.height, first % self.height
            pile = yards[np.arange(len(leave)), stack]
            above = ((pile > 0) & (self.slots > slot[:, None])).sum(1)
            reward[leave] = 0.3 - above
            source = np.minimum(self.slots + (self.slots >= slot[:, None]), self.height - 1)
            moved = np.take_along_axis(pile, source, 1)
            moved[:, -1] = 0
            self.grid[leave, stack] = moved

        self.hour += 1
        done = self.hour >= self.length - 1
        if done.any():
            ended = np.flatnonzero(done)
            self.grid[ended] = 0
            self.day[ended] = self.rng.integers(0, len(self.arrivals), len(ended))
            self.hour[ended] = 0
        return self.observe(), reward, done
