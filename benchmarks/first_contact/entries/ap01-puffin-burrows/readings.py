from datetime import datetime, timedelta

import numpy as np
import torch
from torch.utils.data import Dataset

STAMP = "%Y-%m-%d %H:%M:%S"
KINDS = {"in": 0, "out": 1, "pause": 2}


def season(number, passages, seed):
    """Passages at the burrow mouths as the readers write them: a stamp, a direction, grams on the
    weighing plate and the temperature of the tunnel. A burrow whose adults come home light or late
    loses its chick."""
    rng = np.random.default_rng(seed)
    burrows = []
    for _ in range(number):
        count = int(rng.integers(passages * 3 // 4, passages + 1))
        care = rng.normal()
        clock = datetime(2024, 6, 1) + timedelta(minutes=float(rng.uniform(0, 20000)))
        mass = 395 + 15 * rng.normal()
        records = []
        for step in range(count):
            clock += timedelta(seconds=float(rng.exponential(9000 * np.exp(-0.25 * care))))
            kind = ("in", "out", "pause")[int(rng.choice(3, p=[0.42, 0.42, 0.16]))]
            mass += 0.2 * (395 - mass) + 4 * care + 6 * rng.normal() + (9 if kind == "in" else -5)
            records.append({
                "stamp": clock.strftime(STAMP),
                "kind": kind,
                "grams": round(mass, 1),
                "celsius": round(9 + 3 * np.sin(clock.hour / 3.82) + rng.normal(), 2),
            })
        fledged = float(rng.random() < 1 / (1 + np.exp(-2.2 * care)))
        burrows.append({"records": records, "fledged": fledged})
    return burrows


class BurrowSeason(Dataset):
    def __init__(self, burrows, passages):
        self.burrows, self.passages = burrows, passages

    def __len__(self):
        return len(self.burrows)

    def __getitem__(self, index):
        burrow = self.burrows[index]
        table = torch.zeros(self.passages, 7)
        times = [datetime.strptime(record["stamp"], STAMP) for record in burrow["records"]]
        count = len(times)
        hours = np.array([(time - times[0]).total_seconds() / 3600 for time in times], dtype=np.float32)
        day = np.array([time.hour + time.minute / 60 for time in times], dtype=np.float32) * (2 * np.pi / 24)
        kinds = torch.tensor([KINDS[record["kind"]] for record in burrow["records"]])
        table[:count, 0] = torch.tensor([record["grams"] for record in burrow["records"]]).sub_(395).div_(30)
        table[:count, 1] = torch.tensor([record["celsius"] for record in burrow["records"]]).sub_(9).div_(3)
        table[:count, 2] = torch.from_numpy(np.sin(day))
        table[:count, 3] = torch.from_numpy(np.cos(day))
        table[torch.arange(count), 4 + kinds] = 1.0
        gaps = torch.zeros(self.passages)
        gaps[1:count] = torch.from_numpy(np.diff(hours))
        return table, gaps, count, torch.tensor(burrow["fledged"])
