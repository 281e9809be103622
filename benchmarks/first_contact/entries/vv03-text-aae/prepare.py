"""Made-up sentences in the format of the repository's yelp data (one tokenised sentence a line, 2 to 16 words, mean 9, Zipf words): 9000 for training, 450 for validation."""
import os

import numpy as np

g = np.random.RandomState(0)
share = 1.0 / (np.arange(6000) + 5.0)
share /= share.sum()
names = np.array(["w%d" % i for i in range(6000)])
os.makedirs("data/yelp", exist_ok=True)
for split, n in (("train", 9000), ("valid", 450)):
    with open("data/yelp/%s.txt" % split, "w") as f:
        for _ in range(n):
            length = int(np.clip(round(g.normal(9, 3.5)), 2, 16))
            f.write(" ".join(names[g.choice(6000, length - 1, p=share)]) + " .\n")
