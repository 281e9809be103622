import torch
from torch import nn
from torch.nn import functional as F

from plates import ALPHABET, BLANK


def conv(inputs, outputs, stride=1):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)
    )


class PlateReader(nn.Module):
    """Convolutions down to one row of 24 columns, two dilated 1-d layers for context, one symbol a column."""

    def __init__(self, width=24):
        super().__init__()
        self.features = nn.Sequential(
            conv(1, width, stride=2),
            conv(width, 2 * width),
            conv(2 * width, 2 * width, stride=2),
            conv(2 * width, 4 * width, stride=(2, 1)),
            nn.Conv2d(4 * width, 4 * width, (3, 1), bias=False),
            nn.BatchNorm2d(4 * width),
            nn.ReLU(inplace=True),
        )
        self.context = nn.ModuleList(nn.Conv2d(4 * width, 4 * width, (1, 3), padding=(0, d), dilation=(1, d)) for d in (1, 2))
        self.symbols = nn.Linear(4 * width, len(ALPHABET) + 1)

    def forward(self, images):
        x = self.features(images)
        for layer in self.context:
            x = x + F.relu(layer(x))
        columns = x.squeeze(2).permute(2, 0, 1)  # time, batch, channels as CTC wants it
        return self.symbols(columns).log_softmax(-1)


def greedy_decode(log_probs):
    """Best symbol per column, repeats merged, blanks dropped: list of lists of symbols."""
    best = log_probs.argmax(-1).T
    keep = best != BLANK
    keep[:, 1:] &= best[:, 1:] != best[:, :-1]
    return [row[k].tolist() for row, k in zip(best, keep)]


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]
