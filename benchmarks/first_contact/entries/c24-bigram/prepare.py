"""Writes input.txt: about 1.1 MB of English-like lines."""
import random

random.seed(0)
words = ["".join(random.choice("etaoinshrdlucmfwyp") for _ in range(random.randint(1, 9))) for _ in range(4000)]
with open("input.txt", "w") as f:
    n = 0
    while n < 1_100_000:
        s = " ".join(random.choice(words) for _ in range(random.randint(4, 11))).capitalize() + random.choice([".", ",", "!", ";", "?"]) + "\n"
        f.write(s)
        n += len(s)
