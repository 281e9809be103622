"""Writes a synthetic corpus of methods as path contexts: one method a line, `sub|tokens|of|name left,path,right left,path,right ...`."""
import argparse
import os

import numpy as np


def zipf(n, power):
    p = 1.0 / np.arange(1, n + 1) ** power
    return p / p.sum()


def word(rng):
    letters = "abcdefghijklmnopqrstuvwxyz"
    return "".join(letters[i] for i in rng.integers(0, 26, size=rng.integers(3, 9)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="data")
    parser.add_argument("--train", type=int, default=16000)
    parser.add_argument("--val", type=int, default=1500)
    parser.add_argument("--tokens", type=int, default=14000)
    parser.add_argument("--paths", type=int, default=26000)
    parser.add_argument("--names", type=int, default=3000)
    args = parser.parse_args()
    rng = np.random.default_rng(41)
    os.makedirs(args.out, exist_ok=True)

    words = sorted({word(rng) for _ in range(900)})
    verbs = ["get", "set", "is", "has", "add", "remove", "find", "create", "update", "read", "write", "close"]
    names = set()
    while len(names) < args.names:
        tail = rng.choice(words, size=rng.integers(1, 4))
        names.add("|".join([verbs[rng.integers(len(verbs))], *tail]))
    names = sorted(names)
    tokens = sorted({"|".join(rng.choice(words, size=rng.integers(1, 4))) for _ in range(args.tokens)})
    paths = [str(h) for h in rng.choice(2**31, size=args.paths, replace=False)]
    name_p, token_p, path_p = zipf(len(names), 0.7), zipf(len(tokens), 0.8), zipf(len(paths), 0.75)
    own_tokens = rng.integers(0, len(tokens), size=(len(names), 25))
    own_paths = rng.integers(0, len(paths), size=(len(names), 40))

    for split, number in (("train", args.train), ("val", args.val)):
        with open(f"{args.out}/{split}.c2v", "w") as f:
            for target in rng.choice(len(names), size=number, p=name_p):
                n = int(np.clip(rng.lognormal(4.6, 0.7), 8, 400))
                left, right = rng.choice(len(tokens), size=(2, n), p=token_p)
                path = rng.choice(len(paths), size=n, p=path_p)
                mine = rng.random(n) < 0.3
                left[mine] = own_tokens[target, rng.integers(0, 25, size=mine.sum())]
                path[mine] = own_paths[target, rng.integers(0, 40, size=mine.sum())]
                contexts = " ".join(f"{tokens[a]},{paths[p]},{tokens[b]}" for a, p, b in zip(left, path, right))
                f.write(f"{names[target]} {contexts}\n")


if __name__ == "__main__":
    main()
