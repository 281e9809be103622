"""Pairs of small graphs with a stand-in edit distance, in the repository's own format."""
import json
import os
import random

random.seed(20261201)


def graph(n, p):
    edges = [[a, b] for a in range(n) for b in range(a + 1, n) if random.random() < p]
    degree = [0] * n
    for a, b in edges:
        degree[a] += 1
        degree[b] += 1
    return edges or [[0, 1]], [str(d) for d in degree]


def disturb(edges, n, k):
    held = {tuple(e) for e in edges}
    for _ in range(k):
        a, b = sorted(random.sample(range(n), 2))
        held ^= {(a, b)}
    return [list(e) for e in sorted(held)] or [[0, 1]]


for part, count in (("train", 640), ("test", 50)):
    os.makedirs(f"dataset/{part}", exist_ok=True)
    for i in range(count):
        n, p = random.randint(9, 16), random.uniform(0.25, 0.7)
        one, labels_1 = graph(n, p)
        k = random.randint(0, 40)
        two = disturb(one, n, k)
        labels_2 = [str(sum(v in e for e in two)) for v in range(n)]
        with open(f"dataset/{part}/{i}.json", "w") as f:
            json.dump({"labels_1": labels_1, "labels_2": labels_2, "graph_1": one, "graph_2": two, "ged": k}, f)
