"""Methylation arrays: beta values of many probes, and the age and sex of their donors."""
import numpy as np
import pandas as pd
import torch

CHROMOSOMES = 16


def read_chromosome(number, age, sex, batch, probes, generator):
    """One table of beta values; drawn here, exported by the scanner's software in the lab."""
    drift = torch.where(torch.rand(probes, generator=generator) < 0.08, torch.randn(probes, generator=generator), 0.0)
    dimorphic = torch.where(torch.rand(probes, generator=generator) < 0.02, torch.randn(probes, generator=generator), 0.0)
    plate = 0.15 * torch.randn(int(batch.max()) + 1, probes, generator=generator)
    base = 1.5 * torch.randn(probes, generator=generator)
    years = (age - 50) / 20
    logit = base + years[:, None] * drift + sex[:, None] * dimorphic + plate[batch]
    logit += 0.25 * torch.randn(len(age), probes, generator=generator)
    beta = torch.sigmoid(logit).numpy()
    return pd.DataFrame({f"cg{number:02d}{i:06d}": beta[:, i] for i in range(probes)})


class Cohort:
    def __init__(self, donors=7000, probes=4000, test=1000, seed=0):
        g = torch.Generator().manual_seed(seed)
        age = 18 + 72 * torch.rand(donors, generator=g)
        sex = torch.randint(2, (donors,), generator=g)
        batch = torch.randint(20, (donors,), generator=g)
        tables = [read_chromosome(c + 1, age, sex, batch, probes // CHROMOSOMES, g) for c in range(CHROMOSOMES)]
        betas = pd.concat(tables, axis=1)
        betas = betas.loc[:, betas.std() > 0.03]
        self.probes = list(betas.columns)
        values = torch.from_numpy(betas.to_numpy(dtype=np.float32))
        values = (values - values.mean(0)) / values.std(0)
        self.train = values[:-test], sex[:-test], age[:-test]
        self.test = values[-test:], sex[-test:], age[-test:]

    def batches(self, size):
        values, sex, age = self.train
        for rows in torch.randperm(len(age)).split(size):
            if len(rows) == size:
                yield values[rows], sex[rows], age[rows]
