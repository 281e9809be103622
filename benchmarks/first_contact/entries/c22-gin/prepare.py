"""Writes dataset/PROTEINS/PROTEINS.txt in the text format of the repository: 1113 graphs, 39 nodes and 73 edges on average, 3 node tags, 2 classes."""
import os
import numpy as np

rng = np.random.default_rng(0)
os.makedirs("dataset/PROTEINS", exist_ok=True)
with open("dataset/PROTEINS/PROTEINS.txt", "w") as f:
    f.write("1113\n")
    for g in range(1113):
        n = int(np.clip(rng.lognormal(3.3, 0.75), 4, 620))
        lab = int(rng.random() < 0.4)
        nb = [set() for _ in range(n)]
        for j in range(1, n):
            nb[j].add(j - 1)
            nb[j - 1].add(j)
        for _ in range(int(0.9 * n)):
            a = int(rng.integers(n))
            b = int(np.clip(a + rng.integers(-6, 7), 0, n - 1))
            if a != b:
                nb[a].add(b)
                nb[b].add(a)
        f.write(f"{n} {lab}\n")
        for j in range(n):
            f.write(" ".join(map(str, [int(rng.integers(3)), len(nb[j]), *sorted(nb[j])])) + "\n")
