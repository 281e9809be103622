import numpy as np
import torch
from torch.utils.data import Dataset


def read_catchment(path):
    with np.load(path) as z:
        edges, level, rain = z["edges"], z["level"], z["rain"]
    n = level.shape[1]
    adj = torch.zeros(n, n)
    for a, b in edges:
        adj[a, b] = 1.0
        adj[b, a] = 1.0
    return adj, torch.from_numpy(level), torch.from_numpy(rain)


class Windows(Dataset):
    def __init__(self, level, rain, history, ahead, limit):
        self.level, self.rain = level, rain
        self.history, self.ahead, self.limit = history, ahead, limit

    def __len__(self):
        return len(self.level) - self.history - self.ahead

    def __getitem__(self, i):
        now = i + self.history
        future = self.level[now:now + self.ahead]
        return {
            "level": self.level[i:now],
            "rain": self.rain[i:now],
            "future": future.t(),
            "surcharge": (future.max(dim=0).values > self.limit).float(),
        }
