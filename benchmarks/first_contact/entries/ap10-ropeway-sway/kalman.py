import torch
from torch import nn
from torch.nn import functional as F


class GustyFilter(nn.Module):
    """A Kalman filter whose input and noises are given, step by step, by a network that hears the wind.
    The likelihood of the readings trains the network and the cabin's dynamics together."""

    def __init__(self, states, readings, context, hidden):
        super().__init__()
        self.states, self.readings = states, readings
        self.listen = nn.GRU(context, hidden, batch_first=True)
        self.tell = nn.Sequential(nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 2 * states + readings))
        self.drift = nn.Parameter(0.05 * torch.randn(states, states))
        self.look = nn.Parameter(torch.eye(readings, states) + 0.05 * torch.randn(readings, states))
        self.first_spread = nn.Parameter(torch.zeros(states))
        self.register_buffer("one", torch.eye(states))

    def forward(self, seen, context):
        heard, _ = self.listen(context)
        push, process, sensor = self.tell(heard).split([self.states, self.states, self.readings], 2)
        process = torch.diag_embed(F.softplus(process) + 1e-4).unbind(1)
        sensor = torch.diag_embed(F.softplus(sensor) + 1e-3).unbind(1)
        push, seen = push.unsqueeze(3).unbind(1), seen.unsqueeze(3).unbind(1)

        move = self.one + self.drift
        mean = self.drift.new_zeros(len(seen[0]), self.states, 1)
        cover = torch.diag_embed(F.softplus(self.first_spread)).expand(len(seen[0]), -1, -1)
        means, surprises, factors = [], [], []
        for t in range(len(seen)):
            mean = move @ mean + push[t]
            cover = move @ cover @ move.T + process[t]
            crossed = cover @ self.look.T
            surprise = seen[t] - self.look @ mean
            factor = torch.linalg.cholesky(self.look @ crossed + sensor[t])
            half = torch.linalg.solve_triangular(factor, crossed.mT, upper=False)
            white = torch.linalg.solve_triangular(factor, surprise, upper=False)
            mean = mean + half.mT @ white
            cover = cover - half.mT @ half
            means.append(mean)
            surprises.append(white)
            factors.append(factor)
        white, factor = torch.stack(surprises, 1), torch.stack(factors, 1)
        log_likelihood = -0.5 * white.square().sum((2, 3)) - factor.diagonal(dim1=2, dim2=3).log().sum(2)
        return log_likelihood, torch.stack(means, 1).squeeze(3)
