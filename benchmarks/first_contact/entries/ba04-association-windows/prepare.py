"""Stand-in for three machines of the Server Machine Dataset: 38 metrics, one row a minute."""
import os
import numpy as np

rng = np.random.default_rng(11)
os.makedirs("dataset/SMD", exist_ok=True)


def machine(n):
    t = np.arange(n)
    day = np.sin(2 * np.pi * t / 1440)[:, None] * rng.uniform(0, 0.4, 38) + np.sin(2 * np.pi * t / 180)[:, None] * rng.uniform(0, 0.1, 38)
    x = 0.4 + day + 0.05 * rng.standard_normal((n, 38))
    x[:, rng.choice(38, 6, replace=False)] = 0.0
    return np.clip(x, 0, 1).astype(np.float32)


train = np.concatenate([machine(28479) for _ in range(3)])
test = np.concatenate([machine(28479) for _ in range(3)])
label = np.zeros(len(test), np.float32)
for start in rng.integers(0, len(test) - 400, 25):
    test[start:start + 200, :8] += 0.5
    label[start:start + 200] = 1
np.save("dataset/SMD/SMD_train.npy", train)
np.save("dataset/SMD/SMD_test.npy", test)
np.save("dataset/SMD/SMD_test_label.npy", label)
