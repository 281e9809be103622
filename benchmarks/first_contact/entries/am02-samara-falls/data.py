from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset

FOLDER = Path(__file__).parent / "recordings"


class Drops(Dataset):
    """Falls of single samaras. The tracks are stored as each rig saw them and are brought to tower axes here."""

    def __init__(self, rows, spin=False, seed=0):
        drops = np.load(FOLDER / "drops.npz")
        self.rigs = np.load(FOLDER / "rigs.npz")
        outline = drops["outline"][rows]
        self.outline = (outline - outline.mean((0, 2), keepdims=True)) / outline.std((0, 2), keepdims=True)
        self.track = drops["track"][rows]
        self.rig = drops["rig"][rows]
        self.spin = spin
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return len(self.rig)

    def __getitem__(self, i):
        rig = self.rig[i]
        seen = self.track[i] - self.rigs["origin"][rig]
        world = seen @ self.rigs["rotation"][rig]
        steps = np.diff(world, axis=0)
        if self.spin:
            # the tower has no preferred direction: turn the fall about the vertical
            angle = self.rng.uniform(0, 2 * np.pi)
            c, s = np.cos(angle), np.sin(angle)
            steps = steps @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
        return torch.from_numpy(self.outline[i]), torch.from_numpy(steps.astype(np.float32))


def split(count=1500, held_out=220, seed=5):
    order = np.random.default_rng(seed).permutation(count)
    return order[held_out:], order[:held_out]
