"""Invented letters of pilgrims, each written from one of eight stations of the road."""
import random

import torch
from torch.utils.data import Dataset

PAD, UNKNOWN = 0, 1
STATIONS = ["Vezelay", "Limoges", "Le Puy", "Conques", "Moissac", "Ostabat", "Burgos", "Leon"]


def write_letters(count, seed, words=6000):
    rng = random.Random(seed)
    local = [[rng.randrange(2, words) for _ in range(60)] for _ in STATIONS]
    letters = []
    for _ in range(count):
        station = rng.randrange(len(STATIONS))
        length = min(140, max(8, int(rng.lognormvariate(3.55, 0.42))))
        text = []
        while len(text) < length:
            if rng.random() < 0.12:
                text.append(rng.choice(local[station]))
            elif rng.random() < 0.05:
                text.append(rng.choice(local[rng.randrange(len(STATIONS))]))
            else:
                text.append(2 + int((words - 2) * rng.random() ** 3))
        letters.append((text, station))
    return letters


class LetterSet(Dataset):
    def __init__(self, letters, max_len, word_dropout=0.0):
        self.letters = letters
        self.max_len = max_len
        self.word_dropout = word_dropout

    def __len__(self):
        return len(self.letters)

    def __getitem__(self, index):
        text, station = self.letters[index]
        tokens = torch.full((self.max_len,), PAD, dtype=torch.long)
        tokens[:len(text)] = torch.tensor(text)
        if self.word_dropout > 0:
            for position in range(len(text)):
                if tokens[position] > UNKNOWN and random.random() < self.word_dropout:
                    tokens[position] = UNKNOWN
        return {"tokens": tokens, "length": len(text), "station": station}
