"""Stand-in for the pre-processed Human3.6M: normalised 2D poses (16 joints) and 3D poses, by subject, action and clip."""
import os
import numpy as np
import torch

rng = np.random.default_rng(36)
actions = ["Directions", "Discussion", "Eating", "Greeting", "Phoning", "Photo", "Posing", "Purchases",
           "Sitting", "SittingDown", "Smoking", "Waiting", "WalkDog", "Walking", "WalkTogether"]
A = rng.normal(0, 1, (10, 48))
C = rng.normal(0, 1, (48, 32)) / 7


def clips(subjects, frames):
    p2, p3 = {}, {}
    for s in subjects:
        for a in actions:
            for c in range(2):
                T = int(frames * rng.uniform(0.7, 1.3))
                t = np.arange(T)[:, None] / 25
                z = np.sin(t * rng.uniform(0.5, 4, 10) + rng.uniform(0, 6, 10))
                x = z @ A / 3 + rng.normal(0, 0.05, (T, 48))
                key = (s, a, "%s_%d.%d.h5" % (a, c, 54138969 + c))
                p3[key] = x
                p2[key] = np.tanh(x @ C) + rng.normal(0, 0.02, (T, 32))
    return p2, p3


os.makedirs("data", exist_ok=True)
tr2, tr3 = clips([1, 5, 6, 7, 8], 160)
te2, te3 = clips([9, 11], 60)
torch.save(tr2, "data/train_2d.pth.tar")
torch.save(tr3, "data/train_3d.pth.tar")
torch.save(te2, "data/test_2d.pth.tar")
torch.save(te3, "data/test_3d.pth.tar")
use = np.sort(rng.choice(np.arange(3, 96), 48, replace=False))
torch.save({"mean": rng.normal(0, 300, 96), "std": rng.uniform(50, 300, 96), "dim_use": use,
            "dim_ignore": np.setdiff1d(np.arange(96), use)}, "data/stat_3d.pth.tar")
