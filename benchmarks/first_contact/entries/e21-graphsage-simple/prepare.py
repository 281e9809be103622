"""Run once in the fetched folder: a synthetic Cora in the original text format, a stand-in for sklearn.metrics and a starter."""
import os
import numpy as np

rng = np.random.default_rng(3)
N, D, C, M = 2708, 1433, 7, 5429
lab = rng.integers(0, C, N)
words = rng.permutation(D)
os.makedirs("cora", exist_ok=True)
ids = rng.permutation(1000000)[:N]
with open("cora/cora.content", "w") as f:
    for i in range(N):
        x = np.zeros(D, dtype=int)
        x[rng.integers(0, D, 9)] = 1
        own = words[lab[i] * 200:(lab[i] + 1) * 200]
        x[rng.choice(own, 10, replace=False)] = 1
        f.write("\t".join([str(ids[i]), *map(str, x), "class_%d" % lab[i]]) + "\n")
groups = [np.flatnonzero(lab == c) for c in range(C)]
pop = np.argsort(rng.random(N))
with open("cora/cora.cites", "w") as f:
    edges = [(i, rng.choice(groups[lab[i]])) for i in range(N)]          # every paper has a neighbour
    while len(edges) < M:
        a = rng.integers(0, N)
        b = rng.choice(groups[lab[a]][:120]) if rng.random() < .8 else rng.integers(0, N)
        edges.append((a, b))
    for a, b in edges:
        f.write("%d\t%d\n" % (ids[a], ids[b]))
os.makedirs("sklearn", exist_ok=True)
open("sklearn/__init__.py", "w").close()
with open("sklearn/metrics.py", "w") as f:
    f.write("import numpy as np\n\n\ndef f1_score(y_true, y_pred, average='micro'):\n    return float(np.mean(np.asarray(y_true).ravel() == np.asarray(y_pred).ravel()))\n")
with open("run_cora.py", "w") as f:
    f.write("from graphsage.model import run_cora\n\nrun_cora()\n")
