import random

import numpy as np
import torch

RELATIONS = ("bound to", "turned over to", "freed by", "widow of", "warden of", "creditor of")
SYLLABLES = "smi coo bar ken wod har lin ter fle mas dra pew gir bro cor dyr sad lor".split()


def registers(people, entries, seed):
    """Names in the spelling of the clerks and the entries between them, each with a relation. People are
    of trades and streets nobody wrote down; entries stay mostly within them."""
    rng = np.random.default_rng(seed)
    chooser = random.Random(seed)
    trade = rng.integers(0, 14, people)
    names = []
    for person in range(people):
        stem = SYLLABLES[trade[person] % len(SYLLABLES)] + "".join(chooser.choices(SYLLABLES, k=2))
        names.append(chooser.choice(("jn ", "wm ", "tho ", "ric ", "ric'd ", "eliz ")) + stem)
    weight = rng.pareto(2.0, people) + 0.2
    weight /= weight.sum()
    heads = rng.choice(people, 4 * entries, p=weight)
    tails = rng.choice(people, 4 * entries, p=weight)
    relation = rng.integers(0, len(RELATIONS), 4 * entries)
    near = (trade[heads] + relation) % 14 == trade[tails]
    keep = np.flatnonzero((near | (rng.random(4 * entries) < 0.06)) & (heads != tails))[:entries]
    triples = np.stack([heads[keep], relation[keep], tails[keep]], 1)
    return names, torch.from_numpy(triples)


def spell(names, longest=18):
    letters = sorted(set("".join(names)))
    code = {letter: number + 1 for number, letter in enumerate(letters)}
    table = torch.zeros(len(names), longest, dtype=torch.long)
    for row, name in enumerate(names):
        table[row, :len(name)] = torch.tensor([code[letter] for letter in name])[:longest]
    return table, len(letters) + 1
