"""Random trajectories of five charged particles in the layout of the repository's generator."""
import os

import numpy as np

rng = np.random.RandomState(0)
d = "n_body_system/dataset/"
os.makedirs(d, exist_ok=True)
for part, n in (("train", 3000), ("valid", 500), ("test", 500)):
    s = part + "_charged5_initvel1small"
    v = rng.randn(n, 1, 3, 5) * 0.5
    t = np.arange(49).reshape(1, -1, 1, 1) * 0.1
    loc = rng.randn(n, 1, 3, 5) + v * t + 0.05 * rng.randn(n, 49, 3, 5)
    vel = np.repeat(v, 49, 1) + 0.02 * rng.randn(n, 49, 3, 5)
    q = rng.choice([-1.0, 1.0], (n, 5, 1))
    np.save(d + "loc_" + s, loc.astype(np.float32))
    np.save(d + "vel_" + s, vel.astype(np.float32))
    np.save(d + "edges_" + s, (q @ q.transpose(0, 2, 1)).astype(np.float32))
    np.save(d + "charges_" + s, q.astype(np.float32))
