import torch
import torch.nn as nn


def block(inputs, outputs, pool):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(pool),
    )


class DateReader(nn.Module):
    """Convolutions over the strip, then one classifier that looks at each of the places."""

    def __init__(self, places=8, digits=10, width=16):
        super().__init__()
        self.places = places
        self.digits = digits
        self.features = nn.Sequential(
            block(1, width, 2),
            block(width, 2 * width, 2),
            block(2 * width, 4 * width, (7, 1)),
        )
        self.neck = nn.Sequential(nn.Flatten(), nn.Linear(4 * width * 26, 512), nn.ReLU(inplace=True))
        self.head = nn.Linear(512, places * digits)

    def forward(self, x):
        h = self.neck(self.features(x))
        return self.head(h).view(-1, self.places, self.digits)


def count_correct(logits, dates):
    """Number of digits and of whole dates that were read correctly."""
    predicted = logits.argmax(dim=2)
    digits, whole = 0, 0
    for i in range(dates.size(0)):
        hits = 0
        for j in range(dates.size(1)):
            if predicted[i][j] == dates[i][j]:
                hits += 1
        digits += hits
        whole += hits == dates.size(1)
    return digits, whole
