import numpy as np

MOVES = np.array([[0, 0], [0, 1], [0, -1], [1, 0], [-1, 0]])


class Pursuit:
    """Hunters on a torus have to surround prey: a prey is caught when two hunters stand next to it and at least one strikes."""

    n_actions = 6  # stay, four moves, strike

    def __init__(self, n_agents=5, n_prey=4, size=9, sight=2, limit=40, seed=0):
        self.n_agents, self.n_prey, self.size, self.sight, self.limit = n_agents, n_prey, size, sight, limit
        self.rng = np.random.default_rng(seed)
        window = (2 * sight + 1) ** 2
        self.obs_dim = 2 * window + 2
        self.state_dim = 2 * size * size + 1

    def reset(self):
        cells = self.rng.permutation(self.size**2)[: self.n_agents + self.n_prey]
        places = np.stack([cells // self.size, cells % self.size], axis=1)
        self.agents = places[: self.n_agents]
        self.prey = places[self.n_agents :]
        self.alive = np.ones(self.n_prey, dtype=bool)
        self.t = 0
        return self.observe(), self.state()

    def grids(self):
        grid = np.zeros((2, self.size, self.size), dtype=np.float32)
        grid[0, self.agents[:, 0], self.agents[:, 1]] = 1
        p = self.prey[self.alive]
        grid[1, p[:, 0], p[:, 1]] = 1
        return grid

    def observe(self):
        grid = self.grids()
        span = np.arange(-self.sight, self.sight + 1)
        rows = (self.agents[:, 0, None] + span) % self.size
        cols = (self.agents[:, 1, None] + span) % self.size
        windows = grid[:, rows[:, :, None], cols[:, None, :]]
        flat = windows.transpose(1, 0, 2, 3).reshape(self.n_agents, -1)
        return np.concatenate([flat, self.agents / self.size], axis=1).astype(np.float32)

    def state(self):
        return np.append(self.grids().ravel(), self.t / self.limit).astype(np.float32)

    def available(self):
        mask = np.ones((self.n_agents, self.n_actions), dtype=np.float32)
        mask[:, 5] = self.adjacent().any(axis=1)
        return mask

    def adjacent(self):
        d = np.abs(self.agents[:, None] - self.prey[None])
        d = np.minimum(d, self.size - d).sum(axis=-1)
        return (d <= 1) & self.alive[None]

    def step(self, actions):
        strike = actions == 5
        moves = MOVES[np.where(strike, 0, actions)]
        self.agents = (self.agents + moves) % self.size
        near = self.adjacent()
        caught = (near.sum(axis=0) >= 2) & (near & strike[:, None]).any(axis=0)
        reward = 2.0 * caught.sum() - 0.05
        self.alive &= ~caught
        flee = MOVES[self.rng.integers(0, 5, size=self.n_prey)] * (self.rng.random(self.n_prey) < 0.4)[:, None]
        self.prey = (self.prey + flee) % self.size
        self.t += 1
        terminated = not self.alive.any()
        return reward, terminated, terminated or self.t >= self.limit
