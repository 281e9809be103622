"""Stand-in for GTEA's I3D features (2048 x frames) and frame-wise labels of 11 actions."""
import os
import numpy as np

rng = np.random.default_rng(5)
names = ["take", "open", "pour", "close", "shake", "scoop", "stir", "put", "fold", "spread", "background"]
root = "data/gtea/"
for d in ("features", "groundTruth", "splits"):
    os.makedirs(root + d, exist_ok=True)
with open(root + "mapping.txt", "w") as f:
    for i, n in enumerate(names):
        f.write("%d %s\n" % (i, n))
centres = rng.normal(0, 1, (len(names), 2048)).astype(np.float32)
vids = []
for v in range(11):
    T = int(rng.integers(380, 620))
    lab = []
    while len(lab) < T:
        lab += [int(rng.integers(len(names)))] * int(rng.integers(15, 60))
    lab = np.array(lab[:T])
    x = np.maximum(centres[lab] * 0.4 + rng.normal(0, 0.6, (T, 2048)).astype(np.float32), 0)
    name = "S%d_Meal_C%d" % (v // 3 + 1, v)
    np.save(root + "features/" + name + ".npy", np.ascontiguousarray(x.T.astype(np.float32)))
    with open(root + "groundTruth/" + name + ".txt", "w") as f:
        f.write("".join(names[i] + "\n" for i in lab))
    vids.append(name + ".txt")
open(root + "splits/train.split1.bundle", "w").write("".join(v + "\n" for v in vids[:10]))
open(root + "splits/test.split1.bundle", "w").write("".join(v + "\n" for v in vids[10:]))
