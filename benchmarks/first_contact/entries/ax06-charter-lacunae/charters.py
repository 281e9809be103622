"""A made-up cartulary: formulaic charters over a vocabulary of word forms, with gaps to restore."""
import random

import numpy as np
import torch

PAD, GAP, CLS = 0, 1, 2
SPECIAL = 3


def syllable_words(count, rng):
    onset, vowel, coda = "b c d f g l m n p r s t v qu tr gr".split(), "a e i o u ae".split(), " m s r t n x".split(" ")
    words = set()
    while len(words) < count:
        words.add("".join(rng.choice(onset) + rng.choice(vowel) for _ in range(rng.randint(1, 3))) + rng.choice(coda))
    return sorted(words)


class Cartulary:
    def __init__(self, charters, vocabulary, longest, seed):
        rng = random.Random(seed)
        words = syllable_words(vocabulary - SPECIAL, rng)
        self.index = {w: i + SPECIAL for i, w in enumerate(words)}
        self.size = vocabulary
        self.longest = longest
        draw = np.random.default_rng(seed)
        weights = 1.0 / np.arange(5, len(words) + 5)
        phrases = [draw.choice(len(words), size=draw.integers(3, 9), p=weights / weights.sum()) for _ in range(1500)]
        popular = 1.0 / np.arange(3, len(phrases) + 3)
        popular /= popular.sum()
        self.texts = []
        for _ in range(charters):
            length, text = int(draw.integers(int(0.8 * longest), longest)), []
            while len(text) < length - 1:
                text.extend(phrases[draw.choice(len(phrases), p=popular)])
            self.texts.append([CLS] + [int(w) + SPECIAL for w in text[: length - 1]])
        counts = np.bincount(np.concatenate(self.texts), minlength=vocabulary)[SPECIAL:] + 1
        self.frequency = counts / counts.sum()


class LacunaCollator:
    """Breaks spans out of each charter until about `share` of it is gone; some gaps show a wrong word instead."""

    def __init__(self, cartulary, share=0.15, seed=0):
        self.cartulary, self.share = cartulary, share
        self.rng = random.Random(seed)
        self.numpy_rng = np.random.default_rng(seed)

    def __call__(self, texts):
        longest = max(len(t) for t in texts)
        tokens = torch.full((len(texts), longest), PAD)
        labels = torch.full((len(texts), longest), PAD)
        for row, text in enumerate(texts):
            damaged, lost, wanted = list(text), 0, int(self.share * len(text))
            while lost < wanted:
                span = min(1 + int(self.rng.expovariate(0.7)), 6, wanted - lost)
                start = self.rng.randrange(1, len(text) - span + 1)
                for i in range(start, start + span):
                    if labels[row, i] == PAD:
                        labels[row, i] = text[i]
                        damaged[i] = GAP if self.rng.random() < 0.9 else SPECIAL + int(self.numpy_rng.choice(len(self.cartulary.frequency), p=self.cartulary.frequency))
                        lost += 1
            tokens[row, : len(text)] = torch.tensor(damaged)
        return tokens, labels
