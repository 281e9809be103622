import numpy as np
import torch
from torch.utils.data import Dataset

HISTORY = 192
SEGMENT = 20
LEADS = 6
STRIDE = 8


class Campaign:
    """All records, scaled, with the peak tension of each line in every segment of 10 s."""

    def __init__(self, path):
        with np.load(path) as file:
            motion, tension = file["motion"], file["tension"]
        self.scale = motion.std((0, 1), keepdims=True)
        self.motion = motion / self.scale
        self.level = tension.mean((0, 1))
        self.spread = tension.std((0, 1))
        rolling = np.lib.stride_tricks.sliding_window_view(tension, SEGMENT, axis=1)
        self.peaks = (rolling.max(-1) - self.level) / self.spread

    def starts(self, records):
        last = self.motion.shape[1] - HISTORY - SEGMENT * LEADS
        begin = np.arange(0, last, STRIDE)
        return [(r, b) for r in records for b in begin]

    def cut(self, record, begin):
        end = begin + HISTORY
        past = self.motion[record, begin:end].T
        leads = end + SEGMENT * np.arange(LEADS)
        return np.ascontiguousarray(past), self.peaks[record, leads]


class StormWindows(Dataset):
    """Training windows; those that end in high tensions are drawn more often."""

    def __init__(self, campaign, records, length, seed, sharpness=1.5):
        self.campaign = campaign
        self.windows = campaign.starts(records)
        self.length = length
        self.rng = np.random.default_rng(seed)
        severity = np.array([self._severity(r, b) for r, b in self.windows])
        weight = (1.0 + np.clip(severity, 0, None)) ** sharpness
        self.prob = weight / weight.sum()

    def _severity(self, record, begin):
        return self.campaign.peaks[record, begin + HISTORY].max()

    def __len__(self):
        return self.length

    def __getitem__(self, _):
        pick = self.rng.choice(len(self.windows), p=self.prob)
        past, peaks = self.campaign.cut(*self.windows[pick])
        return torch.from_numpy(past), torch.from_numpy(peaks)


class HeldOut(Dataset):
    def __init__(self, campaign, records, every=30):
        self.campaign = campaign
        self.windows = campaign.starts(records)[::every]

    def __len__(self):
        return len(self.windows)

    def __getitem__(self, i):
        past, peaks = self.campaign.cut(*self.windows[i])
        return torch.from_numpy(past), torch.from_numpy(peaks)
