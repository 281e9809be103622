"""Writes rollouts in the shape of data/carracing.py's (64x64x3 frames, 3 actions) and a VAE's checkpoint."""
import os

import numpy as np
import torch

from models.vae import VAE

rng = np.random.default_rng(2)
yy, xx = np.mgrid[0:64, 0:64].astype(np.float32)


def rollout(n):
    act = np.clip(np.cumsum(rng.normal(0, 0.14, (n, 3)), 0), [-1, 0, 0], [1, 1, 1]).astype(np.float32)
    frames = np.empty((n, 64, 64, 3), np.uint8)
    phase, off = rng.uniform(0, 6), 0.0
    for t in range(n):
        phase += 0.05 * (1 + act[t, 1])
        off = 0.95 * off + 2 * act[t, 0]
        mid = 32 + 10 * np.sin(phase + yy / 25) - off
        road = np.abs(xx - mid) < 9
        frames[t] = np.where(road[..., None], [105, 105, 105], [102, 204, 102])
        frames[t][((xx // 8 + (yy + 4 * phase) // 8) % 2 == 0) & ~road] = [102, 229, 102]
        frames[t, 40:46, 30:34] = [204, 0, 0]
        frames[t, 58:] = 0
    rew = np.where(np.abs(off) < 8, 3.2, -0.1) + rng.normal(0, 0.1, n)
    term = np.zeros(n, bool)
    term[-1] = True
    return dict(observations=frames, rewards=rew, actions=act, terminals=term)


for k in range(18):
    os.makedirs("datasets/carracing/thread_%d" % (k % 2), exist_ok=True)
    np.savez("datasets/carracing/thread_%d/rollout_%d" % (k % 2, k // 2), **rollout(240))
torch.manual_seed(0)
os.makedirs("exp_dir/vae", exist_ok=True)
torch.save({"epoch": 12, "precision": 41.7, "state_dict": VAE(3, 32).state_dict()}, "exp_dir/vae/best.tar")
