"""Writes a file of service-desk notes, one per line, if there is none yet."""
import os

import numpy as np

SYLLABLES = ("ba be bi bo ca ce ci co da de di do fa fe fi ga go ha he hi la le li lo ma me mi mo na ne ni no "
             "pa pe pi po ra re ri ro sa se si so ta te ti to va ve vi vo tion ment ing er est able ness ly").split()


def make_lexicon(rng, words):
    lexicon = set()
    while len(lexicon) < words:
        lexicon.add("".join(rng.choice(SYLLABLES, size=int(rng.integers(1, 5)))))
    return np.array(sorted(lexicon))


def ensure_corpus(path, lines, seed=3):
    if os.path.exists(path):
        return
    rng = np.random.default_rng(seed)
    lexicon = rng.permutation(make_lexicon(rng, 6000))
    rank = np.arange(1, len(lexicon) + 1)
    p = 1.0 / (rank + 5.0)
    p /= p.sum()
    length = np.clip(rng.lognormal(2.7, 0.65, lines), 3, 110).astype(int)
    words = rng.choice(lexicon, size=int(length.sum()), p=p)
    with open(path, "w") as f:
        pos = 0
        for n in length:
            f.write(" ".join(words[pos : pos + n]) + "\n")
            pos += n
