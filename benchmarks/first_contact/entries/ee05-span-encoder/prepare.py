"""Writes data/{train,valid}.txt: one document a line, words drawn from mixtures of topics."""
from pathlib import Path

import numpy as np

WORDS, TOPICS = 5000, 60


def spell(rng):
    syllables = [c + v for c in "bdfghjklmnprstvz" for v in "aeiou"]
    seen = set()
    while len(seen) < WORDS:
        seen.add("".join(rng.choice(syllables, rng.integers(1, 5))))
    return np.array(sorted(seen))


def main():
    rng = np.random.default_rng(21)
    words = spell(rng)
    common = 1.0 / np.arange(1, WORDS + 1)
    common = rng.permutation(common / common.sum())
    topics = rng.dirichlet(np.full(WORDS, 0.01), TOPICS)
    Path("data").mkdir(exist_ok=True)
    for name, count in [("train", 6000), ("valid", 512)]:
        with open(f"data/{name}.txt", "w") as out:
            for _ in range(count):
                chosen = rng.choice(TOPICS, 3, replace=False)
                share = 0.45 * common + 0.55 * rng.dirichlet(np.full(3, 0.5)) @ topics[chosen]
                text = rng.choice(words, rng.integers(90, 260), p=share / share.sum())
                stops = rng.random(len(text)) < 0.08
                out.write(" ".join(w + "." if s else w for w, s in zip(text, stops)) + "\n")


if __name__ == "__main__":
    main()
