import csv

import torch


def pearson(a, b):
    a, b = a - a.mean(), b - b.mean()
    return (a * b).sum() / (a.norm() * b.norm())


def bootstrap_interval(predicted, measured, resamples, generator, level=0.95):
    """Percentile interval of the correlation over resampled windows."""
    n = len(predicted)
    values = []
    for _ in range(resamples):
        pick = torch.randint(n, (n,), generator=generator)
        values.append(pearson(predicted[pick], measured[pick]))
    values = torch.stack(values)
    tail = (1 - level) / 2
    low, high = torch.quantile(values, torch.tensor([tail, 1 - tail])).tolist()
    return low, high


class History:
    def __init__(self, path):
        self.file = open(path, "w", newline="")
        self.writer = csv.writer(self.file)
        self.writer.writerow(["step", "train_mse", "valid_mse", "pearson", "low", "high"])

    def add(self, *row):
        self.writer.writerow(row)
        self.file.flush()

    def close(self):
        self.file.close()
