"""Made-up sentence pairs in SNLI's files and word vectors in GloVe's form."""
import os

import numpy as np

rng = np.random.RandomState(0)
os.makedirs("dataset/SNLI", exist_ok=True)
os.makedirs("dataset/GloVe", exist_ok=True)

letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
words = sorted({"".join(rng.choice(letters, rng.randint(2, 9))) for _ in range(3000)})
rng.shuffle(words)
words = np.array(words)
p = 1.0 / (np.arange(len(words)) + 5)
p /= p.sum()

with open("dataset/GloVe/glove.840B.300d.txt", "w") as f:
    for word in ["<s>", "</s>"] + list(words):
        f.write(word + " " + " ".join("%.5f" % v for v in rng.randn(300) * 0.3) + "\n")

labels = ["entailment", "neutral", "contradiction"]
for split, n in (("train", 3600), ("dev", 600), ("test", 300)):
    with open("dataset/SNLI/s1." + split, "w") as a, open("dataset/SNLI/s2." + split, "w") as b, \
            open("dataset/SNLI/labels." + split, "w") as c:
        for _ in range(n):
            first = rng.choice(words, int(np.clip(rng.lognormal(2.6, 0.4), 4, 50)), p=p)
            m = int(np.clip(rng.lognormal(2.0, 0.35), 3, 25))
            k = rng.randint(3)
            second = rng.choice(first, m) if k == 0 else rng.choice(words, m, p=p)
            if k == 2:
                second[0] = words[0]
            a.write(" ".join(first) + "\n")
            b.write(" ".join(second) + "\n")
            c.write(labels[k] + "\n")
