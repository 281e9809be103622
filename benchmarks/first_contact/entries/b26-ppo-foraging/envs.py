import copy
import numpy as np


class Foraging:
    """Gridworld with moving apples; the observation is an egocentric window."""

    ACTIONS = ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0))

    def __init__(self, size=15, apples=14, view=2, horizon=128, seed=0):
        self.size, self.n_apples, self.view, self.horizon = size, apples, view, horizon
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.state = {
            "t": 0,
            "agent": [self.size // 2, self.size // 2],
            "energy": 10.0,
            "apples": [[int(v) for v in self.rng.integers(0, self.size, 2)] for _ in range(self.n_apples)],
            "eaten": 0,
        }
        self.history = [copy.deepcopy(self.state)]
        return self.observe()

    def observe(self):
        k = 2 * self.view + 1
        win = np.zeros((k, k), dtype=np.float32)
        ay, ax = self.state["agent"]
        for y, x in self.state["apples"]:
            dy, dx = y - ay + self.view, x - ax + self.view
            if 0 <= dy < k and 0 <= dx < k:
                win[dy, dx] += 1.0
        extra = np.array([ay / self.size, ax / self.size, self.state["energy"] / 10], dtype=np.float32)
        return np.concatenate([win.reshape(-1), extra])

    def step(self, action):
        s = copy.deepcopy(self.state)
        s["t"] += 1
        dy, dx = self.ACTIONS[action]
        s["agent"][0] = min(max(s["agent"][0] + dy, 0), self.size - 1)
        s["agent"][1] = min(max(s["agent"][1] + dx, 0), self.size - 1)
        reward = -0.01
        s["energy"] -= 0.1
        j = s["t"] % self.n_apples
        if s["agent"] in s["apples"]:
            j = s["apples"].index(s["agent"])
            reward += 1.0
            s["eaten"] += 1
            s["energy"] = min(s["energy"] + 2, 10)
            s["apples"][j] = [int(v) for v in self.rng.integers(0, self.size, 2)]
        else:
            s["apples"][j][s["t"] % 2] = (s["apples"][j][s["t"] % 2] + 1) % self.size
        self.state = s
        self.history.append(copy.deepcopy(s))
        done = s["t"] >= self.horizon or s["energy"] <= 0
        return self.observe(), reward, done, {"eaten": s["eaten"]}
