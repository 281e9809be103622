import torch


class RollingFeatures:
    """Mean and deviation over several windows, kept up to date by what comes in and what goes out."""

    def __init__(self, machines, channels, windows=(8, 32, 96), refresh=500):
        self.windows = windows
        self.size = max(windows)
        self.ring = torch.zeros(self.size, machines, channels)
        self.sums = torch.zeros(len(windows), machines, channels)
        self.squares = torch.zeros_like(self.sums)
        self.previous = torch.zeros(machines, channels)
        self.lengths = torch.tensor(windows, dtype=torch.float32).view(-1, 1, 1)
        self.refresh = refresh
        self.count = 0

    @property
    def width(self):
        return 2 + 2 * len(self.windows)

    def _recount(self):
        for i, window in enumerate(self.windows):
            rows = torch.arange(self.count - window, self.count) % self.size
            part = self.ring[rows]
            self.sums[i] = part.sum(0)
            self.squares[i] = part.square().sum(0)

    def push(self, values):
        leaving = torch.stack([self.ring[(self.count - window) % self.size] for window in self.windows])
        self.sums += values - leaving
        self.squares += values.square() - leaving.square()
        self.ring[self.count % self.size] = values
        self.count += 1
        if self.count % self.refresh == 0:
            self._recount()
        seen = self.lengths.clamp_max(self.count)
        mean = self.sums / seen
        deviation = (self.squares / seen - mean.square()).clamp_min_(0).sqrt_()
        table = torch.cat([values.unsqueeze(0), (values - self.previous).unsqueeze(0), mean, deviation])
        self.previous = values
        return table.permute(1, 0, 2).reshape(values.shape[0], -1)
