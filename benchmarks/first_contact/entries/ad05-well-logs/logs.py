import numpy as np
import pandas as pd
import torch

SKEWED = ["RT", "RXO"]


class WellLogs:
    """Readings as standardised tensors; whole wells are held back for validation."""

    def __init__(self, path, held_back):
        frame = pd.read_csv(path)
        frame[SKEWED] = np.log(frame[SKEWED])
        held = frame["WELL"].isin(held_back).to_numpy(copy=True)
        values = torch.tensor(frame.drop(columns="WELL").to_numpy(np.float32))
        train = values[~held]
        self.mean, self.std = train.mean(0), train.std(0)
        self.train = (train - self.mean) / self.std
        self.val = (values[held] - self.mean) / self.std

    @property
    def curves(self):
        return self.train.shape[1]

    def batches(self, size):
        order = torch.randperm(len(self.train))
        for i in range(0, len(order) - size + 1, size):
            yield self.train[order[i:i + size]]
