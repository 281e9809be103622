import torch.nn as nn


def sinkhorn(logits, iterations, temperature):
    x = logits / temperature
    for _ in range(iterations):
        x = x.log_softmax(dim=2)
        x = x.log_softmax(dim=1)
    return x


class PieceEncoder(nn.Module):
    def __init__(self, pixels, width, dim):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(pixels, width),
            nn.ReLU(inplace=True),
            nn.Linear(width, width),
            nn.ReLU(inplace=True),
            nn.Linear(width, dim),
        )

    def forward(self, x):
        return self.net(x)


class SinkhornJigsaw(nn.Module):
    """Scores of every piece for every place, made doubly stochastic."""

    def __init__(self, places, pixels, width=640, dim=320, iterations=8, temperature=0.7):
        super().__init__()
        self.encoder = PieceEncoder(pixels, width, dim)
        self.own = nn.Linear(dim, width)
        self.whole = nn.Linear(dim, width, bias=False)
        self.head = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(width, places))
        self.iterations = iterations
        self.temperature = temperature

    def forward(self, pieces):
        h = self.encoder(pieces)
        logits = self.head(self.own(h) + self.whole(h.mean(dim=1, keepdim=True)))
        return sinkhorn(logits, self.iterations, self.temperature)
