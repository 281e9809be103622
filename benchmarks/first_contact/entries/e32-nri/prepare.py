"""Run once in the fetched folder: synthetic spring systems in the repository's .npy format (own short simulation)."""
import os
import numpy as np

rng = np.random.default_rng(42)


def springs(n, steps, balls=5, dt=.02, sub=5):
    e = np.tril(rng.choice([0., .5], (n, balls, balls)), -1)
    e = e + e.transpose(0, 2, 1)
    x = rng.normal(size=(n, 2, balls)) * .5
    v = rng.normal(size=(n, 2, balls))
    v *= .5 / np.linalg.norm(v, axis=1, keepdims=True)
    X, V = [], []
    for t in range(steps * sub):
        if t % sub == 0:
            X.append(x.copy())
            V.append(v.copy())
        d = x[:, :, :, None] - x[:, :, None, :]
        v = v - dt * (e[:, None] * d).sum(3)
        x = x + dt * v
        v = np.where(abs(x) > 5, -np.sign(x) * abs(v), v)
    return np.stack(X, 1), np.stack(V, 1), (e > 0).astype(float)


os.makedirs("data", exist_ok=True)
os.makedirs("logs", exist_ok=True)
for split, n, T in (("train", 320, 49), ("valid", 64, 49), ("test", 32, 99)):
    for k, a in zip(("loc", "vel", "edges"), springs(n, T)):
        np.save("data/%s_%s_springs5.npy" % (k, split), a)
