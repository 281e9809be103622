"""data/PROTEINS in the TU format with the sizes of PROTEINS: 1113 graphs, 4 to 620 nodes (39 on average), degree near 3.7, 3 node labels."""
import os

import numpy as np

rng = np.random.default_rng(3)
os.makedirs("data/PROTEINS", exist_ok=True)
edges, indicator, labels, targets = [], [], [], []
base = 0
for g in range(1113):
    y = int(rng.random() < 0.4)
    n = int(np.clip(rng.lognormal(3.05 if y else 3.45, 0.75), 4, 620))
    if g == 700:
        n = 620
    at = np.cumsum(rng.normal(0, 1, (n, 3)), 0)
    gap = ((at[:, None] - at[None]) ** 2).sum(-1)
    np.fill_diagonal(gap, np.inf)
    pairs = {(i, i + 1) for i in range(n - 1)}
    for i in range(n):
        for j in np.argsort(gap[i])[:3]:
            pairs.add((min(i, int(j)), max(i, int(j))))
    for i, j in sorted(pairs):
        edges += [(base + i + 1, base + j + 1), (base + j + 1, base + i + 1)]
    indicator += [g + 1] * n
    mix = [0.5, 0.42, 0.08] if y else [0.38, 0.58, 0.04]
    labels += rng.choice(3, n, p=mix).tolist()
    targets.append(y + 1)
    base += n
edges.sort()


def put(name, lines):
    with open(f"data/PROTEINS/PROTEINS_{name}.txt", "w") as f:
        f.write("\n".join(map(str, lines)) + "\n")


put("A", [f"{a}, {b}" for a, b in edges])
put("graph_indicator", indicator)
put("graph_labels", targets)
put("node_labels", labels)
print(base / 1113, "nodes a graph,", len(edges) / base, "neighbours a node")
