"""Small films of a marble that rolls in a tilted tray."""
import numpy as np
import torch

SIDE = 24


def roll(length, count, rng):
    place = rng.uniform(4, SIDE - 4, (count, 2))
    speed = rng.normal(0, 0.6, (count, 2))
    tilt = rng.normal(0, 0.02, (count, 2))
    track = np.empty((length, count, 2))
    for t in range(length):
        tilt = 0.98 * tilt + rng.normal(0, 0.006, tilt.shape)
        speed = 0.995 * speed + tilt
        place = place + speed
        for low, sign in ((2.0, 1.0), (SIDE - 3.0, -1.0)):
            out = (place - low) * sign < 0
            place = np.where(out, 2 * low - place, place)
            speed = np.where(out, -0.9 * speed, speed)
        track[t] = place
    return track


def render(track):
    axis = np.arange(SIDE)
    row = np.exp(-0.5 * ((axis - track[..., :1]) / 1.5) ** 2)
    column = np.exp(-0.5 * ((axis - track[..., 1:]) / 1.5) ** 2)
    return (row[..., :, None] * column[..., None, :] * 255).astype(np.uint8)


class FilmWindows:
    def __init__(self, films, length, window, seed):
        rng = np.random.default_rng(seed)
        self.frames = render(roll(length, films, rng)).transpose(1, 0, 2, 3)
        self.window = window
        self.index = [(f, s) for f in range(films) for s in range(length - window + 1)]
        self.rng = np.random.default_rng(seed + 1)

    def draw(self, batch):
        chosen = self.rng.choice(len(self.index), batch, replace=False)
        parts = [self.frames[f, s:s + self.window] for f, s in (self.index[i] for i in chosen)]
        return torch.from_numpy(np.stack(parts)).float().div_(255).unsqueeze(2)
