"""A simulated patient cohort: numeric and categorical covariates, censored survival times."""
import numpy as np
import torch

CARDINALITIES = [24, 12, 7, 40, 5, 16, 9, 30]
NUMERIC = 14


def simulate(count, seed):
    effects = np.random.default_rng(99)  # the same population for every split
    tables = [effects.normal(0, 0.35, c) for c in CARDINALITIES]
    linear = effects.normal(0, 0.25, NUMERIC)
    first, second = effects.permutation(NUMERIC)[:6], effects.permutation(NUMERIC)[:6]

    rng = np.random.default_rng(seed)
    categories = np.stack([rng.integers(0, c, count) for c in CARDINALITIES], axis=1)
    numeric = rng.normal(0, 1, (count, NUMERIC))
    numeric[:, ::3] = np.exp(0.5 * numeric[:, ::3])
    risk = numeric @ linear + sum(t[categories[:, i]] for i, t in enumerate(tables))
    risk += 0.3 * (numeric[:, first] * numeric[:, second]).clip(-2, 2).sum(1) / 2
    risk += 0.4 * np.sin(2 * numeric[:, 1]) * (categories[:, 2] > 3)
    event = (rng.exponential(1, count) / np.exp(risk - risk.mean())) ** (1 / 1.4)
    censor = rng.exponential(1.5 * np.median(event), count)
    return {
        "numeric": torch.from_numpy(numeric.astype(np.float32)),
        "categories": torch.from_numpy(categories),
        "time": torch.from_numpy(np.minimum(event, censor).astype(np.float32)),
        "event": torch.from_numpy((event <= censor).astype(np.float32)),
    }


class Cohort:
    """Columns as tensors; standardised with the statistics of the training split."""

    def __init__(self, columns, mean=None, std=None):
        self.numeric, self.categories = columns["numeric"], columns["categories"]
        self.time, self.event = columns["time"], columns["event"]
        self.mean = self.numeric.mean(0) if mean is None else mean
        self.std = self.numeric.std(0) if std is None else std
        self.numeric = (self.numeric - self.mean) / self.std
        # one table for all columns: each column's codes are shifted past those before it
        self.categories = self.categories + torch.tensor([0, *np.cumsum(CARDINALITIES)[:-1]])

    def __len__(self):
        return len(self.time)

    def batches(self, size, generator):
        order = torch.randperm(len(self), generator=generator)
        for index in order[: len(order) // size * size].view(-1, size):
            yield self.numeric[index], self.categories[index], self.time[index], self.event[index]
