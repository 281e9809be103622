import json
import random

import numpy as np
import torch
from torch.utils.data import Dataset

from pitch import parse_slice

PAD, START, END = 0, 1, 2
FIGURES = ["<pad>", "<s>", "</s>", "o", "6", "64", "7", "65", "43", "42", "#"]
INDEX = {figure: i for i, figure in enumerate(FIGURES)}

LOW, HIGH = -18, 22                 # bins on the line of fifths
BINS = HIGH - LOW + 1
FEATURES = 3 * BINS + 4             # bass, inner parts, top; beat of the bar


def slice_features(notes):
    """Weights of each spelled pitch class in the bass, in the inner parts and in the top part."""
    row = np.zeros((3, BINS), dtype=np.float32)
    last = len(notes) - 1
    for place, note in enumerate(notes):
        part = 0 if place == 0 else 2 if place == last else 1
        row[part, min(max(note.fifth, LOW), HIGH) - LOW] += note.beats
    return row.reshape(-1) / row.sum()


class Continuo(Dataset):
    def __init__(self, path, transpose=0):
        with open(path) as lines:
            self.excerpts = [json.loads(line) for line in lines]
        self.transpose = transpose

    def __len__(self):
        return len(self.excerpts)

    def __getitem__(self, i):
        excerpt = self.excerpts[i]
        steps = random.randint(-self.transpose, self.transpose)
        roll = np.zeros((len(excerpt["slices"]), FEATURES), dtype=np.float32)
        for t, text in enumerate(excerpt["slices"]):
            notes = [note.transpose(steps) for note in parse_slice(text)]
            roll[t, : 3 * BINS] = slice_features(notes)
            roll[t, 3 * BINS + int(excerpt["beats"][t])] = 1.0
        figures = [INDEX[figure] for figure in excerpt["figures"]]
        return torch.from_numpy(roll), torch.tensor([START] + figures + [END])


def collate(batch):
    """Longest first; padded to the longest of the batch."""
    batch.sort(key=lambda pair: len(pair[0]), reverse=True)
    rolls, figures = zip(*batch)
    lengths = torch.tensor([len(roll) for roll in rolls])
    rolls = torch.nn.utils.rnn.pad_sequence(rolls, batch_first=True)
    figures = torch.nn.utils.rnn.pad_sequence(figures, batch_first=True, padding_value=PAD)
    return rolls, lengths, figures
