"""Writes data/wikitext-103/{train,valid,test}.txt: made-up text, about 50000 different words."""
import os

import numpy as np

rng = np.random.default_rng(103)
V = 200000
p = 1.0 / (np.arange(V) + 8.0) ** 1.08
cum = np.cumsum(p / p.sum())
letters = np.array(list("etaoinshrdlucmfwypvbgk"))
lengths = np.clip(2 + np.log2(np.arange(V) + 2) * 0.5 + rng.normal(0, 1.2, V), 1, 14).astype(int)
words = ["".join(letters[rng.integers(0, 22, n)]) + ("" if i < 5000 else str(i % 97)) for i, n in enumerate(lengths)]
words = [w + "-%d" % i if i > 30000 else w for i, w in enumerate(words)]


def text(n):
    ids = np.searchsorted(cum, rng.random(n))
    out, i = [], 0
    while i < n:
        k = int(np.clip(rng.normal(90, 40), 8, 250))
        out.append(" " + " ".join(words[j] for j in ids[i:i + k]) + " \n")
        i += k
    return "".join(out)


os.makedirs("data/wikitext-103", exist_ok=True)
for name, n in (("train", 400000), ("valid", 12000), ("test", 13000)):
    with open("data/wikitext-103/%s.txt" % name, "w") as f:
        f.write(text(n))
print("words", len(set(open("data/wikitext-103/train.txt").read().split())))
seen = set(open("data/wikitext-103/train.txt").read().split())
for name in ("valid", "test"):
    lines = [[w if w in seen else words[0] for w in l.split()] for l in open("data/wikitext-103/%s.txt" % name)]
    with open("data/wikitext-103/%s.txt" % name, "w") as f:
        f.writelines(" " + " ".join(l) + " \n" for l in lines)
