import ast
import os

import numpy as np
import pandas as pd
import torch

from make_data import NUMERIC, build


class ApplicantTable:
    """Columns of the export as tensors, served in batches of rows."""

    def __init__(self, frame, mean, std):
        self.numeric = torch.tensor(((frame[NUMERIC] - mean) / std).to_numpy(np.float32))
        self.role = torch.tensor(frame["role"].to_numpy())
        protected = np.stack([(frame["age"].to_numpy() - 38) / 9,
                              frame["group"].to_numpy() * 2.0 - 1.0], axis=1)
        self.protected = torch.tensor(protected.astype(np.float32))
        self.target = torch.tensor(frame["invited"].to_numpy(np.float32))
        self.skills = frame["skills"].to_numpy()

    def __len__(self):
        return len(self.target)

    def rows(self, index):
        lists = [ast.literal_eval(text) for text in self.skills[index.numpy()]]
        lengths = torch.tensor([len(s) for s in lists])
        flat = torch.tensor([s for one in lists for s in one])
        offsets = torch.cumsum(lengths, 0) - lengths
        return {"numeric": self.numeric[index], "role": self.role[index],
                "skills": flat, "offsets": offsets,
                "protected": self.protected[index], "target": self.target[index]}

    def batches(self, size, generator=None):
        if generator is None:
            order = torch.arange(len(self))
        else:
            order = torch.randperm(len(self), generator=generator)
        stop = len(self) if generator is None else len(self) - len(self) % size
        for start in range(0, stop, size):
            yield self.rows(order[start:start + size])


def load(folder, rows):
    path = os.path.join(folder, f"applicants_{rows}.csv")
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        build(path, rows)
    frame = pd.read_csv(path)
    cut = int(len(frame) * 0.85)
    train, valid = frame.iloc[:cut], frame.iloc[cut:]
    mean, std = train[NUMERIC].mean(), train[NUMERIC].std()
    return ApplicantTable(train, mean, std), ApplicantTable(valid, mean, std)
