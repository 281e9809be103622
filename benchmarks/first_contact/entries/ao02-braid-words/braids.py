"""Random words in the braid group B_12 and what closing them gives (writhe and number of components)."""
import random

import torch

STRANDS = 12
GENERATORS = STRANDS - 1
PAD, MASK = 0, 1
TRIGRAMS = 23 ** 3


def sign_and_place(token):
    token -= 2
    return (1 if token < GENERATORS else -1), token % GENERATORS


def components(word):
    where = list(range(STRANDS))
    for token in word:
        _, i = sign_and_place(token)
        where[i], where[i + 1] = where[i + 1], where[i]
    seen, count = set(), 0
    for start in range(STRANDS):
        if start in seen:
            continue
        count += 1
        while start not in seen:
            seen.add(start)
            start = where[start]
    return count


def random_word(length, rng):
    word, here = [], rng.randrange(GENERATORS)
    while len(word) < length:
        if rng.random() < 0.2:
            here = rng.randrange(GENERATORS)
        here = min(max(here + rng.choice((-1, 0, 0, 1)), 0), GENERATORS - 1)
        token = 2 + here + (GENERATORS if rng.random() < 0.35 else 0)
        if word and abs(word[-1] - token) == GENERATORS:
            continue
        word.append(token)
    return word


def make(count, length, seed):
    rng = random.Random(seed)
    words = [random_word(length, rng) for _ in range(count)]
    writhe = torch.tensor([sum(sign_and_place(t)[0] for t in w) for w in words], dtype=torch.float32)
    closed = torch.tensor([components(w) - 1 for w in words])
    return torch.tensor(words), writhe / length ** 0.5, closed


def trigrams(words):
    """One number for each three neighbouring letters, the last two positions repeated."""
    base = words - 1
    three = (base[:, :-2] * 23 + base[:, 1:-1]) * 23 + base[:, 2:]
    return torch.cat([three, three[:, -1:], three[:, -1:]], 1)


def hide(words, rate, rng, vocabulary):
    """BERT's recipe: of the letters chosen 80 % masked, 10 % replaced, 10 % left."""
    shown, wanted = words.clone(), torch.full_like(words, -100)
    for row in range(words.shape[0]):
        for column in range(words.shape[1]):
            if rng.random() >= rate:
                continue
            wanted[row, column] = words[row, column]
            luck = rng.random()
            if luck < 0.8:
                shown[row, column] = MASK
            elif luck < 0.9:
                shown[row, column] = rng.randrange(2, vocabulary)
    return shown, wanted
