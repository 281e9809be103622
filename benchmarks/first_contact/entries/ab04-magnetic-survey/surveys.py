import numpy as np
import torch


def load_surveys(path, held_out):
    with np.load(path) as archive:
        stations = torch.from_numpy(archive["stations"])
    return stations[:-held_out], stations[-held_out:]


class TaskSampler:
    """Batches of surveys, each with stations that are known and stations to predict."""

    def __init__(self, stations, tasks, context, target, seed):
        self.stations = stations
        self.tasks, self.context, self.target = tasks, context, target
        self.rng = np.random.default_rng(seed)

    def batch(self):
        context, target = [], []
        for s in self.rng.integers(0, len(self.stations), self.tasks):
            pick = self.rng.choice(self.stations.shape[1], self.context + self.target, replace=False)
            chosen = self.stations[s, torch.from_numpy(pick)]
            context.append(chosen[: self.context])
            target.append(chosen[self.context:])
        return torch.stack(context), torch.stack(target)
