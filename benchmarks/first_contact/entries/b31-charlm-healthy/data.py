import random

import numpy as np
import torch


def make_corpus(n_chars, seed=0):
    rng = random.Random(seed)
    syl = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
    lexicon = ["".join(rng.choices(syl, k=rng.randint(1, 4))) for _ in range(800)]
    weights = [1 / (k + 1) for k in range(len(lexicon))]
    out, size = [], 0
    while size < n_chars:
        s = " ".join(rng.choices(lexicon, weights, k=rng.randint(4, 12))).capitalize() + ". "
        out.append(s)
        size += len(s)
    return "".join(out)[:n_chars]


class CharData:
    def __init__(self, text, block, batch, val_frac=0.1):
        chars = sorted(set(text))
        self.stoi = {c: i for i, c in enumerate(chars)}
        self.itos = chars
        ids = torch.from_numpy(np.array([self.stoi[c] for c in text], dtype=np.int64))
        cut = int(len(ids) * (1 - val_frac))
        self.splits = {"train": ids[:cut], "val": ids[cut:]}
        self.block, self.batch = block, batch
        self.offsets = torch.arange(block + 1)

    def get(self, split):
        d = self.splits[split]
        start = torch.randint(0, len(d) - self.block - 1, (self.batch, 1))
        w = d[start + self.offsets]
        return w[:, :-1], w[:, 1:]
