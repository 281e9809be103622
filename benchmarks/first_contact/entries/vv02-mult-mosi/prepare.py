"""Made-up data in the format of the CMU-MOSI pickle that the repository's README links to: word-aligned, 50 steps, 300/5/20 features, 1284/229/686 segments."""
import os
import pickle

import numpy as np

g = np.random.RandomState(0)
data = {}
for split, n in (("train", 1284), ("valid", 229), ("test", 686)):
    labels = np.clip(g.randn(n, 1, 1) * 1.6, -3, 3)
    length = g.randint(6, 51, n)
    there = (np.arange(50)[None, :] >= 50 - length[:, None])[..., None]
    data[split] = {
        "text": ((g.randn(n, 50, 300) * 0.4 + 0.05 * labels) * there).astype(np.float32),
        "audio": ((g.randn(n, 50, 5) + 0.1 * labels) * there).astype(np.float32),
        "vision": ((g.randn(n, 50, 20) + 0.1 * labels) * there).astype(np.float32),
        "labels": labels,
        "id": np.array([[b"video%d" % (i // 20), b"%d" % i, b"%d" % (i + 3)] for i in range(n)]),
    }
os.makedirs("data", exist_ok=True)
os.makedirs("pre_trained_models", exist_ok=True)
with open("data/mosi_data.pkl", "wb") as f:
    pickle.dump(data, f)
