"""Stand-in sentences: words of a Zipf-like vocabulary in a few topics, 12000 / 1200 / 1200 lines of 13 to 18 words."""
import os

import numpy as np

rng = np.random.default_rng(11)
SYL = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
words = []
seen = set()
while len(words) < 8000:
    w = "".join(rng.choice(SYL, rng.integers(1, 5)))
    if w not in seen:
        seen.add(w)
        words.append(w)
words = np.array(words)
base = 1.0 / np.arange(1, 8001) ** 0.9
topics = [base * np.exp(rng.normal(0, 1.2, 8000)) for _ in range(12)]
topics = [np.cumsum(t / t.sum()) for t in topics]

os.makedirs("datasets/letters_data", exist_ok=True)
for name, n in (("train", 12000), ("valid", 1200), ("test", 1200)):
    with open(f"datasets/letters_data/letters.{name}.txt", "w") as f:
        for _ in range(n):
            t = topics[rng.integers(12)]
            k = rng.integers(13, 19)
            f.write(" ".join(words[np.minimum(np.searchsorted(t, rng.random(k)), 7999)]) + "\n")
