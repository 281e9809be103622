import torch
from torch import nn


class EnsembleLinear(nn.Module):
    """One linear layer for every member, as a single batched product."""

    def __init__(self, members, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(members, inputs, outputs) / inputs**0.5)
        self.bias = nn.Parameter(torch.zeros(members, 1, outputs))

    def forward(self, x):
        return torch.baddbmm(self.bias, x, self.weight)


class EnsembleDynamics(nn.Module):
    """Members predict the change of the state; inputs and outputs are standardised."""

    def __init__(self, members, state_size, action_size, hidden=128):
        super().__init__()
        self.members = members
        self.net = nn.Sequential(
            EnsembleLinear(members, state_size + action_size, hidden),
            nn.ReLU(inplace=True),
            EnsembleLinear(members, hidden, hidden),
            nn.ReLU(inplace=True),
            EnsembleLinear(members, hidden, state_size),
        )
        for name, size in (("in", state_size + action_size), ("out", state_size)):
            self.register_buffer(f"{name}_mean", torch.zeros(size))
            self.register_buffer(f"{name}_std", torch.ones(size))

    def fit_scales(self, inputs, deltas):
        self.in_mean, self.in_std = inputs.mean(0), inputs.std(0) + 1e-6
        self.out_mean, self.out_std = deltas.mean(0), deltas.std(0) + 1e-6

    def forward(self, state, action):
        """state (members, rows, S) and action (members, rows, A) to the next state."""
        x = torch.cat([state, action], dim=-1)
        change = self.net((x - self.in_mean) / self.in_std)
        return torch.addcmul(state + self.out_mean, change, self.out_std)

    def loss(self, inputs, deltas):
        prediction = self.net((inputs - self.in_mean) / self.in_std)
        return (prediction - (deltas - self.out_mean) / self.out_std).square().mean(dim=(1, 2)).sum()


class Memory:
    """Transitions of all cranes, in two growing but preallocated arrays."""

    def __init__(self, capacity, state_size, action_size):
        self.inputs = torch.empty(capacity, state_size + action_size)
        self.deltas = torch.empty(capacity, state_size)
        self.size = 0

    def add(self, state, action, following):
        end = self.size + len(state)
        self.inputs[self.size : end] = torch.cat([state, action], 1)
        self.deltas[self.size : end] = following - state
        self.size = end

    def sample(self, members, rows, generator):
        index = torch.randint(self.size, (members, rows), generator=generator)
        return self.inputs[index], self.deltas[index]
