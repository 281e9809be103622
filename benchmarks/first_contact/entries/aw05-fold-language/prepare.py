"""Stand-in for the CATH chain set: random protein backbones (N, CA, C, O) with sequences."""
import json
import os
import numpy as np

rng = np.random.default_rng(40)
alphabet = "ACDEFGHIKLMNPQRSTVWY"
os.makedirs("data", exist_ok=True)
names = []
with open("data/chain_set.jsonl", "w") as f:
    for k in range(150):
        L = int(rng.integers(40, 130))
        d = np.cumsum(rng.normal(0, 0.5, (L, 3)), 0)
        d = d - 0.1 * np.arange(L)[:, None] * d.mean(0)
        d /= np.linalg.norm(d, axis=1, keepdims=True)
        ca = np.cumsum(3.8 * d, 0)
        frame = rng.normal(0, 0.15, (3, L, 3))
        coords = {"N": ca - 1.3 * d + frame[0], "CA": ca, "C": ca + 1.4 * d + frame[1], "O": ca + 1.9 * d + 4 * frame[2]}
        name = "%dabc.%s" % (k, "A")
        names.append(name)
        f.write(json.dumps({"seq": "".join(rng.choice(list(alphabet), L)), "name": name,
                            "coords": {a: np.round(x, 3).tolist() for a, x in coords.items()}}) + "\n")
json.dump({"train": names[:110], "validation": names[110:130], "test": names[130:]}, open("data/chain_set_splits.json", "w"))
