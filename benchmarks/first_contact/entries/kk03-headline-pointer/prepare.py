"""Make up a small corpus of local news: one JSON object a line with an article and its headline."""
import argparse
import json
from pathlib import Path

import numpy as np

SYLLABLES = [c + v for c in "bdfgklmnprstvz" for v in ("a", "e", "i", "o", "u", "an", "er", "ol")]


def word(rng, low=2, high=4):
    return "".join(rng.choice(SYLLABLES, rng.integers(low, high)))


def make(rng, lexicon, topics, weights):
    topic = topics[rng.integers(len(topics))]
    place, person = word(rng, 2, 4).capitalize(), word(rng, 3, 5).capitalize()
    keys = list(rng.choice(topic, rng.integers(3, 7), replace=False))
    length = int(np.clip(rng.lognormal(3.95, 0.45), 20, 160))
    body = list(rng.choice(lexicon, length, p=weights))
    for k in keys:
        for _ in range(rng.integers(1, 3)):
            body[rng.integers(length)] = k
    body[rng.integers(0, max(1, length // 3))] = place
    body[rng.integers(0, length)] = person
    head = [place] + keys
    head += [person] if rng.random() < 0.5 else []
    head += list(topic[: rng.integers(1, 5)])
    return {"article": " ".join(body), "headline": " ".join(head)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="data")
    parser.add_argument("--train", type=int, default=960)
    parser.add_argument("--dev", type=int, default=64)
    args = parser.parse_args()
    rng = np.random.default_rng(5)
    lexicon = sorted({word(rng) for _ in range(12000)})
    rng.shuffle(lexicon)
    weights = 1.0 / (np.arange(len(lexicon)) + 12.0)
    weights /= weights.sum()
    topics = [list(rng.choice(lexicon[50:4000], 24, replace=False)) for _ in range(40)]
    out = Path(args.out)
    out.mkdir(exist_ok=True)
    for name, count in (("train", args.train), ("dev", args.dev)):
        with open(out / f"{name}.jsonl", "w") as f:
            for _ in range(count):
                f.write(json.dumps(make(rng, lexicon, topics, weights)) + "\n")


if __name__ == "__main__":
    main()
