"""Made-up blazons (descriptions of coats of arms), their vocabulary, and masking."""
import random

import torch
from torch.utils.data import Dataset

PAD, UNK, CLS, SEP, MASK = range(5)
TINCTURES = "or argent gules azure vert sable purpure tenne murrey ermine vair".split()
ORDINARIES = "fess pale bend chevron cross saltire chief bordure pile pall orle tressure".split()
POSES = "rampant passant statant sejant couchant salient displayed naiant hauriant".split()
WORDS = ["a", "between", "on", "three", "two", "six", "in", "chief", "and", "base", "counterchanged", "charged", "with", "the", "of", "field", "per", "quarterly", "first", "fourth"]


def charges(count):
    first = "ba be bo cra cro da dra fa ga gri ha he ka la le ma mo na pe ra sa so sta ta to u wi".split()
    last = "con dle fin gant ger hart kin lamp lon mar net nock per ron sel stock tal ter tun ver".split()
    rng = random.Random(11)
    names = set()
    while len(names) < count:
        names.add("".join(rng.choice(first) for _ in range(rng.randint(1, 2))) + rng.choice(last))
    return sorted(names)


def write_blazons(count, seed):
    rng = random.Random(seed)
    beasts = charges(2900)
    weight = [1.0 / (i + 4) for i in range(len(beasts))]
    texts = []
    for beast in zip(*[iter(rng.choices(beasts, weight, k=8 * count))] * 8):
        words = [rng.choice(TINCTURES)]
        for part in range(rng.choice((1, 1, 1, 2, 2, 3, 5))):
            words += ["a", rng.choice(ORDINARIES), rng.choice(TINCTURES), "between", rng.choice(("two", "three", "six")), beast[part], rng.choice(POSES), rng.choice(TINCTURES)]
            if rng.random() < 0.4:
                words += ["charged", "with", "a", beast[part + 2], "of", "the", rng.choice(("first", "fourth", "field"))]
        if rng.random() < 0.2:
            words = ["quarterly"] + words + ["and", beast[7], "counterchanged"]
        texts.append(words)
    return texts


class Vocabulary:
    def __init__(self):
        self.words = ["[pad]", "[unk]", "[cls]", "[sep]", "[mask]"] + sorted(set(TINCTURES + ORDINARIES + POSES + WORDS)) + charges(2900)
        self.index = {w: i for i, w in enumerate(self.words)}

    def __len__(self):
        return len(self.words)

    def encode(self, words):
        return [self.index.get(w, UNK) for w in words]


class MaskedBlazons(Dataset):
    def __init__(self, texts, vocabulary, max_len=96, share=0.15):
        self.texts = texts
        self.vocabulary = vocabulary
        self.max_len = max_len
        self.share = share

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, item):
        tokens = [CLS] + self.vocabulary.encode(self.texts[item])[: self.max_len - 2] + [SEP]
        labels = []
        for i, token in enumerate(tokens):
            prob = random.random()
            if token != CLS and token != SEP and prob < self.share:
                prob /= self.share
                labels.append(token)
                if prob < 0.8:
                    tokens[i] = MASK
                elif prob < 0.9:
                    tokens[i] = random.randrange(5, len(self.vocabulary))
            else:
                labels.append(PAD)
        padding = [PAD] * (self.max_len - len(tokens))
        return torch.tensor(tokens + padding), torch.tensor(labels + padding)
