import torch
from torch import nn


class StackedLinear(nn.Module):
    """The same layer for several members at once."""

    def __init__(self, members, inputs, outputs):
        super().__init__()
        bound = inputs ** -0.5
        self.weight = nn.Parameter(torch.empty(members, inputs, outputs).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(members, 1, outputs))

    def forward(self, x):
        return torch.baddbmm(self.bias, x, self.weight)


class Critics(nn.Module):
    def __init__(self, inputs, width, members=2):
        super().__init__()
        self.members = members
        self.first = StackedLinear(members, inputs, width)
        self.second = StackedLinear(members, width, width)
        self.third = StackedLinear(members, width, 1)

    def forward(self, state, action):
        x = torch.cat([state, action], dim=1).expand(self.members, -1, -1)
        x = torch.relu_(self.first(x))
        x = torch.relu_(self.second(x))
        return self.third(x).squeeze(2)


def perceptron(inputs, width, outputs):
    return nn.Sequential(nn.Linear(inputs, width), nn.ReLU(inplace=True), nn.Linear(width, width),
                         nn.ReLU(inplace=True), nn.Linear(width, outputs))


class Policy(nn.Module):
    def __init__(self, inputs, width, actions):
        super().__init__()
        self.net = perceptron(inputs, width, actions)
        self.logstd = nn.Parameter(torch.full((actions,), -1.0))

    def forward(self, state):
        return torch.tanh(self.net(state))

    def log_prob(self, state, action):
        gap = (action - self(state)) * torch.exp(-self.logstd)
        return -(0.5 * gap.square() + self.logstd).sum(1)
