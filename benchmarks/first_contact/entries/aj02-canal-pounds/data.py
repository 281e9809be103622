import math

import numpy as np
import torch

STEPS_A_DAY = 96


class Canal:
    """The whole record in memory as float32; windows are cut out of it by indexing."""

    def __init__(self, path, horizon, memory):
        with np.load(path) as store:
            level = torch.from_numpy(store["level"].astype(np.float32))
            gate = torch.from_numpy(store["gate"].astype(np.float32))
            boats = torch.from_numpy(store["boats"].astype(np.float32))
            rain = torch.from_numpy(store["rain"])
            self.area = torch.from_numpy(store["area"])
        self.horizon, self.memory = horizon, memory
        self.scale = level.std()
        self.level = level / self.scale
        pounds = level.shape[1]

        day = torch.arange(len(level)) * (2 * math.pi / STEPS_A_DAY)
        common = torch.stack([torch.log1p(rain), day.sin(), day.cos()], dim=1)
        locks = torch.stack([gate[:, :-1], gate[:, 1:], boats[:, :-1], boats[:, 1:]], dim=2)
        self.forcing = torch.cat([locks, common[:, None].expand(-1, pounds, -1)], dim=2).contiguous()

        last = len(level) - horizon - 1
        cut = int(0.85 * last)
        self.train_starts = torch.arange(memory, cut)
        self.test_starts = torch.arange(cut + horizon, last - 4 * STEPS_A_DAY, STEPS_A_DAY // 2)
        self.back = torch.arange(-memory + 1, 1)
        self.ahead = torch.arange(horizon)

    def batches(self, size, count, generator):
        """`count` batches of windows drawn anew in every epoch."""
        drawn = torch.randint(len(self.train_starts), (count, size), generator=generator)
        for row in self.train_starts[drawn]:
            yield self.windows(row, self.ahead)

    def windows(self, start, ahead):
        past = self.level[start[:, None] + self.back]
        times = start[:, None] + ahead
        return past, self.forcing[times], self.level[times + 1]
