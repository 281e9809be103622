"""Stand-in for WN18 (40943 entities, 18 relations) and for the two pre-trained embeddings that gan_train.py loads."""
import os
import numpy as np
import torch

rng = np.random.default_rng(18)
n_ent, n_rel = 40943, 18
os.makedirs("wn18", exist_ok=True)
names = ["%08d" % (i * 211 + 1740) for i in range(n_ent)]
rels = ["_relation_%d" % i for i in range(n_rel)]
p = 1 / np.arange(1, n_rel + 1)
p /= p.sum()


def write(path, n):
    order = rng.permutation(n_ent)
    s, t = order[:n], order[-n:]
    r = rng.choice(n_rel, n, p=p)
    with open(path, "w") as f:
        for i in range(n):
            f.write(names[s[i]] + "\t" + rels[r[i]] + "\t" + names[t[i]] + "\n")


write("wn18/train.txt", 30000)
write("wn18/valid.txt", 100)
write("wn18/test.txt", 40)
torch.manual_seed(18)
ents, rel = set(), set()
for name in ("train", "valid", "test"):
    for line in open("wn18/%s.txt" % name):
        s, r, t = line.strip().split("\t")
        ents.update((s, t))
        rel.add(r)
for name in ("transe_backup.mdl", "distmult.mdl"):
    w = {"rel_embed.weight": torch.randn(len(rel), 50), "ent_embed.weight": torch.randn(len(ents), 50)}
    for k in w:
        w[k] = torch.renorm(w[k], 2, 0, 1) if name[0] == "t" else w[k] * 0.3
    torch.save(w, "wn18/" + name)
