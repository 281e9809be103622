import numpy as np
import torch


class EpisodeBuffer:
    def __init__(self, capacity, env, seed=0):
        T, n = env.limit, env.n_agents
        self.capacity, self.size, self.head = capacity, 0, 0
        self.rng = np.random.default_rng(seed)
        self.data = {
            "obs": torch.zeros(capacity, T + 1, n, env.obs_dim),
            "state": torch.zeros(capacity, T + 1, env.state_dim),
            "avail": torch.zeros(capacity, T + 1, n, env.n_actions),
            "actions": torch.zeros(capacity, T, n, dtype=torch.long),
            "reward": torch.zeros(capacity, T),
            "terminated": torch.zeros(capacity, T),
            "filled": torch.zeros(capacity, T),
        }

    def add(self, episode):
        i = self.head
        for key, value in episode.items():
            value = torch.as_tensor(np.asarray(value))
            row = self.data[key][i]
            row.zero_()
            row[: len(value)] = value
        length = len(episode["reward"])
        self.data["filled"][i].zero_()
        self.data["filled"][i, :length] = 1
        self.head = (i + 1) % self.capacity
        self.size = min(self.size + 1, self.capacity)

    def sample(self, n):
        rows = torch.from_numpy(self.rng.choice(self.size, size=n, replace=False))
        batch = {key: value[rows] for key, value in self.data.items()}
        longest = int(batch["filled"].sum(dim=1).max())
        return {
            key: value[:, : longest + 1] if key in ("obs", "state", "avail") else value[:, :longest]
            for key, value in batch.items()
        }
