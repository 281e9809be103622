"""Made-up contract paragraphs, already tokenised: one flat uint16 array, offsets, and a table of clause labels."""
import argparse
from pathlib import Path

import numpy as np


def write(folder, split, n, rng, vocab, n_labels, topics, common):
    tokens, offsets = [], [0]
    labels = np.zeros((n, n_labels), np.uint8)
    for i in range(n):
        active = rng.choice(n_labels, size=rng.choice([1, 2, 3], p=[0.65, 0.25, 0.1]), replace=False)
        labels[i, active] = 1
        length = int(np.clip(rng.lognormal(4.55, 0.45), 24, 224))
        topical = rng.random(length) < 0.25
        words = np.where(topical, topics[rng.choice(active, length), rng.integers(topics.shape[1], size=length)], common[rng.zipf(1.3, length) % len(common)])
        tokens.append(words.astype(np.uint16))
        offsets.append(offsets[-1] + length)
    np.savez(folder / f"{split}.npz", tokens=np.concatenate(tokens), offsets=np.array(offsets), labels=labels)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("data"))
    parser.add_argument("--train", type=int, default=5600)
    parser.add_argument("--dev", type=int, default=320)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(17)
    vocab, n_labels = 6000, 41
    topics = rng.integers(500, vocab, size=(n_labels, 60))
    common = rng.permutation(np.arange(4, vocab))
    write(args.out, "train", args.train, rng, vocab, n_labels, topics, common)
    write(args.out, "dev", args.dev, rng, vocab, n_labels, topics, common)


if __name__ == "__main__":
    main()
