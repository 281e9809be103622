"""Writes data/TrainSet.mat and data/ValSet.mat in the shape that preprocess_data.m gives for NGSIM:
traj = rows (data set, vehicle, frame, x, y, lane, lateral manoeuvre 1-3, longitudinal 1-2, 39 grid cells with
vehicle numbers), tracks = cell array (data sets x vehicles) of 3 x length arrays (frame, x, y). Feet, 10 Hz."""
import os

import numpy as np
import scipy.io as scp


def section(rng, vehicles):
    """Cars on a three-lane road; returns a list of tracks and the rows."""
    tracks, rows = [None] * vehicles, []
    start = np.sort(rng.integers(1, 4 * vehicles, vehicles))
    at = {}
    for v in range(vehicles):
        length = int(rng.integers(300, 520))
        lane = int(rng.integers(0, 3))
        speed = np.clip(rng.normal(34, 7) + 8 * np.sin(np.arange(length) / rng.uniform(30, 90) + rng.uniform(0, 6)), 6, 70)
        y = np.cumsum(speed * 0.1)
        x = np.full(length, 6.0 + 12 * lane)
        lat = np.ones(length, int)
        if rng.random() < 0.35:
            to = min(max(lane + (1 if rng.random() < 0.5 else -1), 0), 2)
            when = int(rng.integers(60, length - 60))
            x = x + 12 * (to - lane) / (1 + np.exp(-(np.arange(length) - when) / 8.0))
            lat[max(0, when - 40):when + 40] = 1 if to == lane else (2 if to < lane else 3)
        x = x + rng.normal(0, 0.15, length)
        frames = np.arange(start[v], start[v] + length)
        tracks[v] = np.stack([frames, x, y]).astype(np.float64)
        lanes = np.clip(np.round((x - 6) / 12), 0, 2).astype(int)
        lon = np.where(np.append(speed[50:], np.full(50, speed[-1])) < 0.8 * speed, 2, 1)
        for k, f in enumerate(frames):
            at.setdefault(int(f), []).append((v + 1, x[k], y[k], lanes[k], lat[k], lon[k], k, length))
    for f, cars in at.items():
        for v, x, y, lane, lat, lon, k, length in cars:
            if k < 30 or k > length - 52 or k % 5:
                continue
            grid = np.zeros(39)
            for v2, x2, y2, lane2, *_ in cars:
                if v2 == v or abs(lane2 - lane) > 1 or abs(y2 - y) > 90:
                    continue
                grid[(lane2 - lane + 1) * 13 + int(round((y2 - y + 90) / 15))] = v2
            rows.append([f, x, y, lane + 1, lat, lon, v, *grid])
    return tracks, rows


def write(path, seed, vehicles):
    rng = np.random.default_rng(seed)
    cells = np.empty((2, vehicles), object)
    traj = []
    for d in range(2):
        tracks, rows = section(rng, vehicles)
        for v in range(vehicles):
            cells[d, v] = tracks[v]
        traj += [[d + 1, r[6], r[0], *r[1:6], *r[7:]] for r in rows]
    traj = np.array(traj, np.float64)
    print(path, traj.shape, "neighbours", (traj[:, 8:] > 0).sum(1).mean())
    scp.savemat(path, {"traj": traj, "tracks": cells}, do_compression=True)


os.makedirs("data", exist_ok=True)
os.makedirs("trained_models", exist_ok=True)
write("data/TrainSet.mat", 3, 190)
write("data/ValSet.mat", 4, 28)
