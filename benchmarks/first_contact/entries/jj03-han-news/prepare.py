"""Writes data/train.csv and data/test.csv (made-up news in the form of AG's News: class, title, description) and data/glove.6B.50d.txt
(random vectors of 50 for 12000 words, the frequent ones first as in GloVe); makes trained_models/."""
import csv
import os

import numpy as np

WORDS, TRAIN, TEST = 12000, 768, 48  # 400000, 120000, 7600 in the originals

here = os.path.dirname(os.path.abspath(__file__))
rng = np.random.default_rng(11)
os.makedirs(os.path.join(here, "data"), exist_ok=True)
os.makedirs(os.path.join(here, "trained_models"), exist_ok=True)
parts = [c + v for c in "bdfghklmnprstvwz" for v in ("a", "e", "i", "o", "u", "an", "er", "in", "or")]
words, seen = [",", ".", "(", ")", "'s", "-", "$"], set()
while len(words) < WORDS:
    w = "".join(rng.choice(parts, rng.integers(1, 5)))
    if w not in seen:
        seen.add(w)
        words.append(w)
with open(os.path.join(here, "data", "glove.6B.50d.txt"), "w") as f:
    for w in words:
        f.write(w + " " + " ".join("%.5f" % v for v in rng.normal(0, .4, 50)) + "\n")
plain = [w for w in words if w.isalpha()]
p = 1 / (np.arange(len(plain)) + 10.0)
p /= p.sum()
topic = rng.permutation(len(plain))[:2000].reshape(4, -1)


def sentence(y, n):
    out = [plain[i] if rng.random() > .15 else plain[topic[y][rng.integers(500)]] for i in rng.choice(len(plain), n, p=p)]
    for k in range(len(out)):
        r = rng.random()
        if r < .06:
            out[k] += ","
        elif r < .08:
            out[k] = "(" + out[k] + ")"
        elif r < .09:
            out[k] += "'s"
        elif r < .105:
            out[k] = out[k] + "x" + str(rng.integers(100))  # not in the vectors
    return " ".join(out).capitalize() + "."


for name, n in (("train", TRAIN), ("test", TEST)):
    with open(os.path.join(here, "data", name + ".csv"), "w", newline="") as f:
        writer = csv.writer(f, quoting=csv.QUOTE_ALL)
        for _ in range(n):
            y = int(rng.integers(4))
            title = sentence(y, int(rng.integers(5, 10)))[:-1]
            text = " ".join(sentence(y, int(rng.integers(12, 28))) for _ in range(rng.choice([1, 2, 3], p=[.5, .35, .15])))
            writer.writerow([y + 1, title, text])
