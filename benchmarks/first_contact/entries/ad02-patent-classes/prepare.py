"""Makes patent abstracts of pseudo words, each with a few of eighty classes."""
import json

import numpy as np

CLASSES, WORDS = 80, 9000
SYLLABLES = [a + b for a in "bcdfghklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "il")]


def main():
    rng = np.random.default_rng(5)
    words = set()
    while len(words) < WORDS:
        words.add("".join(rng.choice(SYLLABLES, rng.integers(2, 5))))
    words = np.array(sorted(words))
    rng.shuffle(words)
    common = 1.0 / np.arange(1, WORDS + 1) ** 0.9
    common /= common.sum()
    special = rng.integers(300, WORDS, (CLASSES, 40))
    popularity = 1.0 / np.arange(2, CLASSES + 2) ** 0.6
    popularity /= popularity.sum()

    for split, count in (("train", 1008), ("val", 252)):
        with open(f"{split}.jsonl", "w") as f:
            for _ in range(count):
                labels = rng.choice(CLASSES, rng.integers(1, 4), replace=False, p=popularity)
                length = int(np.clip(rng.lognormal(4.1, 0.38), 20, 300))
                ids = rng.choice(WORDS, length, p=common)
                topical = rng.random(length) < 0.25
                ids[topical] = special[rng.choice(labels, topical.sum()), rng.integers(0, 40, topical.sum())]
                f.write(json.dumps({"text": " ".join(words[ids]), "labels": sorted(int(c) for c in labels)}) + "\n")


if __name__ == "__main__":
    main()
