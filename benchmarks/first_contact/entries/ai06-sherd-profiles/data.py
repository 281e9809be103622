"""Profiles as tensors: a few megabytes, so they are kept in memory and batches are taken by index."""
from dataclasses import dataclass

import numpy as np
import torch


@dataclass
class Profiles:
    points: torch.Tensor      # vessels x points x (radius, height, wall, curvature)
    kind: torch.Tensor        # vessels

    def __len__(self):
        return len(self.kind)


def load(path):
    """Returns the sets catalogue, recorded and held, scaled by the statistics of the recorded vessels."""
    stored = np.load(path)
    scale = torch.from_numpy(stored["recorded"]).flatten(0, 1).std(0)
    return {
        name: Profiles(torch.from_numpy(stored[name]) / scale, torch.from_numpy(stored[name + "_type"]))
        for name in ("catalogue", "recorded", "held")
    }


def endless_batches(count, size, generator):
    """Index tensors of one shuffled pass after another; the incomplete last batch of a pass is left out."""
    while True:
        yield from torch.randperm(count, generator=generator)[: count // size * size].split(size)
