import numpy as np


class KeyDoor:
    """7x7 room, pick up the key, open the door. Observation: 4 planes, flat."""

    MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1)]

    def __init__(self, size=7, max_steps=80, seed=None):
        self.size, self.max_steps = size, max_steps
        self.rng = np.random.default_rng(seed)

    @property
    def obs_dim(self):
        return 4 * self.size * self.size

    def reset(self):
        cells = self.rng.choice(self.size * self.size, 3, replace=False)
        self.agent, self.key, self.door = [divmod(int(c), self.size) for c in cells]
        self.has_key = False
        self.t = 0
        return self._obs()

    def _obs(self):
        o = np.zeros((4, self.size, self.size), dtype=np.float32)
        o[0][self.agent] = 1
        if not self.has_key:
            o[1][self.key] = 1
        o[2][self.door] = 1
        o[3] = float(self.has_key)
        return o.ravel()

    def step(self, a):
        self.t += 1
        dr, dc = self.MOVES[a]
        r = min(max(self.agent[0] + dr, 0), self.size - 1)
        c = min(max(self.agent[1] + dc, 0), self.size - 1)
        self.agent = (r, c)
        reward, done = -0.01, False
        if not self.has_key and self.agent == self.key:
            self.has_key, reward = True, 0.5
        elif self.has_key and self.agent == self.door:
            reward, done = 1.0, True
        return self._obs(), reward, done or self.t >= self.max_steps
