import numpy as np

rng = np.random.default_rng(2024)
TOURS, STOPS, SLOTS, ZONES = 2000, 192, 1200, 12

xy = np.stack([rng.integers(0, 40, SLOTS), rng.integers(0, 30, SLOTS)], 1)
zone = (xy[:, 0] // 14) * 4 + xy[:, 1] // 8
zone = np.minimum(zone, ZONES - 1)
popular = rng.zipf(1.4, SLOTS).clip(max=200).astype(float)
slots = rng.choice(SLOTS, (TOURS, STOPS), p=popular / popular.sum())
slots = np.take_along_axis(slots, np.argsort(zone[slots] + rng.normal(0, 1.0, slots.shape), axis=1), 1)
pieces = rng.poisson(2.0, slots.shape) + 1
walk = np.abs(np.diff(xy[slots], axis=1, prepend=np.zeros((TOURS, 1, 2), int))).sum(-1)
seconds = 4 + 1.1 * walk + 2.5 * pieces + rng.gamma(2.0, 1.5, slots.shape)
np.savez("tours.npz", slots=slots.astype(np.int32), pieces=pieces.astype(np.int32),
         zone=zone[slots].astype(np.int32), seconds=np.log(seconds).astype(np.float32))
