"""Writes m30k_deen_shr.pkl as preprocess.py -share_vocab does, from made-up captions with the lengths
and the vocabulary of Multi30k (29,000 pairs for the vocabulary, of which a twentieth is kept)."""
import os
import sys
from argparse import Namespace

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "shims")]

import dill as pickle  # noqa: E402
import torchtext.data  # noqa: E402

import transformer.Constants as Constants  # noqa: E402

PAIRS, KEPT, VALID = 29000, 1440, 256


def language(rng, kinds, suffix):
    letters = "abcdefghijklmnopqrstuvwxyz"
    words, seen = [], set()
    while len(words) < kinds:
        word = "".join(rng.choice(list(letters), size=int(rng.integers(2, 11)))) + suffix
        if word not in seen:
            seen.add(word)
            words.append(word)
    ranks = np.arange(1, kinds + 1)
    p = 1.0 / (ranks + 2.7) ** 1.05
    return np.array(words), p / p.sum()


def main():
    rng = np.random.default_rng(30)
    lengths = np.clip(np.round(rng.lognormal(np.log(12.4), 0.32, PAIRS + VALID)), 4, 41).astype(int)
    others = np.clip(np.round(lengths * rng.normal(0.96, 0.13, PAIRS + VALID)), 3, 44).astype(int)
    sides = []
    for kinds, suffix, side in ((5150, "e", others), (4380, "s", lengths)):
        words, p = language(rng, kinds, suffix)
        drawn = rng.choice(len(words), size=int(side.sum()), p=p)
        ends = np.cumsum(side)
        sides.append([words[part].tolist() for part in np.split(drawn, ends[:-1])])
    fields = {
        name: torchtext.data.Field(
            tokenize=str.split, lower=True, pad_token=Constants.PAD_WORD,
            init_token=Constants.BOS_WORD, eos_token=Constants.EOS_WORD)
        for name in ("src", "trg")
    }
    both = [("src", fields["src"]), ("trg", fields["trg"])]
    examples = [
        torchtext.data.Example.fromlist([" ".join(a), " ".join(b)], both) for a, b in zip(*sides)
    ]
    train, valid = examples[:PAIRS], examples[PAIRS:]
    src, trg = fields["src"], fields["trg"]
    src.build_vocab([e.src for e in train], min_freq=3)
    trg.build_vocab([e.trg for e in train], min_freq=3)
    print(len(src.vocab), len(trg.vocab))
    for w, _ in src.vocab.stoi.items():
        if w not in trg.vocab.stoi:
            trg.vocab.stoi[w] = len(trg.vocab.stoi)
    trg.vocab.itos = [None] * len(trg.vocab.stoi)
    for w, i in trg.vocab.stoi.items():
        trg.vocab.itos[i] = w
    src.vocab.stoi = trg.vocab.stoi
    src.vocab.itos = trg.vocab.itos
    print(len(trg.vocab))
    data = {
        "settings": Namespace(max_len=100, min_word_count=3, share_vocab=True),
        "vocab": {"src": src, "trg": trg},
        "train": train[:KEPT], "valid": valid, "test": valid,
    }
    with open(os.path.join(HERE, "m30k_deen_shr.pkl"), "wb") as f:
        pickle.dump(data, f)


if __name__ == "__main__":
    main()
