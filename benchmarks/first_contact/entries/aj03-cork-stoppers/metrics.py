import torch


class Confusion:
    def __init__(self, classes):
        self.classes = classes
        self.reset()

    def reset(self):
        self.matrix = torch.zeros(self.classes, self.classes)

    def update(self, target, predicted):
        for t, p in zip(target.view(-1), predicted.view(-1)):
            self.matrix[t.long(), p.long()] += 1

    def accuracy(self):
        return (self.matrix.diag().sum() / self.matrix.sum().clamp(min=1)).item()

    def recall(self):
        return (self.matrix.diag() / self.matrix.sum(1).clamp(min=1)).tolist()

    def kappa(self):
        """Quadratic weighted kappa: a stopper one grade off matters less than four."""
        n = self.classes
        grid = torch.arange(n, dtype=torch.float32)
        weight = (grid[:, None] - grid[None, :]) ** 2 / (n - 1) ** 2
        total = self.matrix.sum().clamp(min=1)
        expected = self.matrix.sum(1)[:, None] * self.matrix.sum(0)[None, :] / total
        return (1 - (weight * self.matrix).sum() / (weight * expected).sum().clamp(min=1e-6)).item()
