"""Writes data/ENZYMES: 600 made-up graphs in the sizes of ENZYMES (2 to 126 nodes, 32.6 on average, 62 edges)."""
import os

import numpy as np

rng = np.random.default_rng(7)
out = os.path.join("data", "ENZYMES", "ENZYMES")
os.makedirs(os.path.dirname(out), exist_ok=True)
edges, indicator, labels, attrs, classes = [], [], [], [], []
start = 1
for g in range(600):
    c = g // 100
    n = int(np.clip(rng.gamma(4.5, 7.2), 3, 126))
    pos = np.cumsum(rng.normal(size=(n, 3)) + [0.2 * (c % 3), 0, 0.1 * c], axis=0)
    d = ((pos[:, None] - pos[None]) ** 2).sum(-1)
    pairs = {(i, i + 1) for i in range(n - 1)}
    order = np.argsort(d, axis=1)
    for i in range(n):
        for j in order[i, 1:4]:
            if len(pairs) < (1.7 + 0.06 * c) * n:
                pairs.add((min(i, int(j)), max(i, int(j))))
    for i, j in sorted(pairs):
        edges += ["%d, %d" % (start + i, start + j), "%d, %d" % (start + j, start + i)]
    kinds = rng.choice(3, n, p=[0.45 + 0.02 * c, 0.45 - 0.02 * c, 0.10]) + 1
    indicator += [str(g + 1)] * n
    labels += [str(k) for k in kinds]
    attrs += [", ".join("%.6f" % v for v in rng.normal(k, 1, 18)) for k in kinds]
    classes.append(str(c + 1))
    start += n
for name, lines in (("A", edges), ("graph_indicator", indicator), ("node_labels", labels),
                    ("node_attributes", attrs), ("graph_labels", classes)):
    with open(out + "_" + name + ".txt", "w") as f:
        f.write("\n".join(lines) + "\n")
print("nodes a graph", (start - 1) / 600, "edges a graph", len(edges) / 1200)
