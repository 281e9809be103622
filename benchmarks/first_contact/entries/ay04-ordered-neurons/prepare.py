"""Stand-in for the Penn Treebank as used for language models: sentences of a 10,000 word vocabulary, <unk> and N among them."""
import os

import numpy as np

rng = np.random.default_rng(11)
V = 10000
syll = [c + v for c in "bcdfghklmnprstvw" for v in "aeiou"]
words = ["<unk>", "N", "the", "of", "to", "a", "in", "and", "'s", "for"]
seen = set(words)
while len(words) < V - 1:
    w = "".join(rng.choice(syll, size=rng.integers(1, 5)))
    if w not in seen:
        seen.add(w)
        words.append(w)
zipf = 1.0 / (np.arange(1, V) + 2.0)
zipf /= zipf.sum()
os.makedirs("data/penn", exist_ok=True)
for split, tokens in (("train", 300000), ("valid", 12000), ("test", 12000)):
    with open("data/penn/%s.txt" % split, "w") as f:
        if split == "train":
            order = rng.permutation(V - 1)
            for i in range(0, V - 1, 20):
                f.write(" " + " ".join(words[j] for j in order[i:i + 20]) + " \n")
        n = 0
        while n < tokens:
            k = int(rng.integers(6, 40))
            topic = int(rng.integers(0, V - 1))
            ids = rng.choice(V - 1, size=k, p=zipf)
            near = rng.random(k) < 0.25
            ids[near] = (topic + ids[near] % 30) % (V - 1)
            f.write(" " + " ".join(words[j] for j in ids) + " \n")
            n += k + 1
