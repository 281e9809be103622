import numpy as np


class Berth:
    """A double-ended ferry in a cross wind. Observed: place and speed relative to the berth, heading,
    rate of turn, wind of the last seconds and eight sonar ranges to the piers. Seven commands."""

    COMMANDS = np.array([[0, 0], [1, 0], [-1, 0], [0.4, 1], [0.4, -1], [-0.4, 1], [-0.4, -1]], dtype=np.float32)
    size = 22

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.angles = np.linspace(-1.4, 1.4, 8)
        self.reset()

    def reset(self):
        self.place = np.array([-60 - 20 * self.rng.random(), 25 * self.rng.normal()])
        self.speed = np.array([2.0, 0.0])
        self.heading, self.turn, self.clock = 0.2 * self.rng.normal(), 0.0, 0
        self.wind = np.full(8, self.rng.normal())
        return self.observe()

    def observe(self):
        ahead = self.heading + self.angles
        to_pier = (12 * np.sign(np.sin(ahead) + 1e-6) - self.place[1]) / (np.sin(ahead) + 1e-3)
        ranges = np.clip(np.where(to_pier > 0, to_pier, 80), 0, 80) / 80
        pose = [self.place[0] / 60, self.place[1] / 20, *self.speed / 2, self.heading, self.turn * 10]
        return np.concatenate([pose, self.wind, ranges]).astype(np.float32)

    def step(self, command):
        thrust, rudder = self.COMMANDS[command]
        self.wind = np.append(self.wind[1:], 0.95 * self.wind[-1] + 0.3 * self.rng.normal())
        self.turn = 0.9 * self.turn + 0.02 * rudder
        self.heading += self.turn
        push = 0.15 * thrust * np.array([np.cos(self.heading), np.sin(self.heading)])
        before = np.hypot(*self.place)
        self.speed = 0.97 * self.speed + push + np.array([0.0, 0.02 * self.wind[-1]])
        self.place = self.place + self.speed
        self.clock += 1
        distance = np.hypot(*self.place)
        reward = 0.05 * (before - distance) - 0.01 * abs(self.heading)
        ashore = abs(self.place[1]) > 60 or self.place[0] > 8 or self.place[0] < -120
        moored = distance < 4 and np.hypot(*self.speed) < 0.6
        reward += 5.0 * moored - 2.0 * ashore
        return self.observe(), float(reward), bool(ashore or moored or self.clock >= 160)
