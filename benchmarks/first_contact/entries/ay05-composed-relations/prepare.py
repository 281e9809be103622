"""Stand-in for FB15k-237: triples of the same form over fewer entities."""
import os

import numpy as np

rng = np.random.default_rng(5)
N, R, D = 1600, 60, 8
ent = rng.standard_normal((N, D))
rel = rng.standard_normal((R, D)) * 0.7
pop = 1.0 / (np.arange(N) + 20.0)
pop /= pop.sum()
rpop = 1.0 / (np.arange(R) + 3.0)
rpop /= rpop.sum()
want = 11000
triples = set()
while len(triples) < want:
    s = rng.choice(N, size=512, p=pop)
    r = rng.choice(R, size=512, p=rpop)
    score = (ent[s] + rel[r]) @ ent.T + 0.8 * rng.gumbel(size=(512, N)) + np.log(pop) * 0.5
    for a, b, c in zip(s, r, score.argmax(1)):
        if a != c:
            triples.add((int(a), int(b), int(c)))
triples = sorted(triples)
rng.shuffle(triples)
os.makedirs("data/FB15k-237", exist_ok=True)
os.makedirs("log", exist_ok=True)
os.makedirs("checkpoints", exist_ok=True)
parts = {"train": triples[:want - 1600], "valid": triples[want - 1600:want - 800], "test": triples[want - 800:]}
for split, rows in parts.items():
    with open("data/FB15k-237/%s.txt" % split, "w") as f:
        for s, r, o in rows:
            f.write("/m/%05x\t/rel/%02d/of\t/m/%05x\n" % (4096 + s, r, 4096 + o))
