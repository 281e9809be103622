"""Windows of hourly buoy reports from the database."""
import sqlite3

import numpy as np
import torch
from torch.utils.data import Dataset

OBSERVED = ["east", "north", "speed", "heading", "sst", "salinity"]
CONTROLS = ["wind_u", "wind_v", "gust", "pressure", "wave_height", "wave_period", "swell_u", "swell_v",
            "tide", "current_u", "current_v", "radiation"]


class BuoyWindows(Dataset):
    """Items are (observed, controls) over `length` hours of one buoy."""

    def __init__(self, path, buoys, length, stride):
        self.connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.length = length
        columns = ", ".join(OBSERVED + CONTROLS)
        self.query = f"SELECT {columns} FROM fixes WHERE buoy = ? AND hour >= ? AND hour < ? ORDER BY hour"
        last = self.connection.execute("SELECT MAX(hour) FROM fixes").fetchone()[0]
        self.index = [(buoy, start) for buoy in buoys for start in range(0, last + 2 - length, stride)]

    def __len__(self):
        return len(self.index)

    def __getitem__(self, item):
        buoy, start = self.index[item]
        rows = self.connection.execute(self.query, (buoy, start, start + self.length)).fetchall()
        values = torch.from_numpy(np.array(rows, dtype=np.float32))
        return values[:, :len(OBSERVED)], values[:, len(OBSERVED):]
