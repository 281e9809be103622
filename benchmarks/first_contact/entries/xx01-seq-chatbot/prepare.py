"""Writes data/movie_lines.txt: 12000 question/answer pairs of made-up words (Zipf), 2 to 14 words a line."""
import os
import shutil

import numpy as np

rng = np.random.RandomState(3)
syllables = ["ba", "ko", "mi", "ter", "lan", "su", "ri", "pol", "den", "va", "ghi", "no", "sel", "tu", "ma", "fre"]
words = []
seen = set()
while len(words) < 6000:
    word = "".join(rng.choice(syllables, rng.randint(1, 5)))
    if word not in seen:
        seen.add(word)
        words.append(word)
p = 1.0 / (np.arange(len(words)) + 8.0)
p /= p.sum()
shutil.rmtree("save", ignore_errors=True)
os.makedirs("data", exist_ok=True)
with open("data/movie_lines.txt", "w") as out:
    for _ in range(12000):
        for _ in range(2):
            n = int(np.clip(rng.gamma(3.0, 2.2), 1, 17)) + 1
            out.write(" ".join(words[i] for i in rng.choice(len(words), n, p=p)) + " .\n")
