"""A synthetic corpus with a Zipf vocabulary."""
import numpy as np

rng = np.random.RandomState(0)
p = 1.0 / np.arange(1, 6001) ** 0.9
p /= p.sum()
with open("input.txt", "w", encoding="utf8") as f:
    for _ in range(30000):
        n = rng.randint(8, 30)
        f.write(" ".join("w%d" % i for i in rng.choice(6000, n, p=p)) + "\n")
