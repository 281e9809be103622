import torch
import torch.nn.functional as F
from torch import nn


class RNNAgent(nn.Module):
    """Recurrent Q-function shared by all agents."""

    def __init__(self, input_dim, n_actions, hidden=64):
        super().__init__()
        self.hidden = hidden
        self.fc1 = nn.Linear(input_dim, hidden)
        self.rnn = nn.GRUCell(hidden, hidden)
        self.fc2 = nn.Linear(hidden, n_actions)

    def init_hidden(self, n):
        return torch.zeros(n, self.hidden)

    def forward(self, inputs, h):
        x = F.relu(self.fc1(inputs))
        h = self.rnn(x, h)
        return self.fc2(h), h


class QMixer(nn.Module):
    """Monotonic mixing network with hypernetworks on the global state."""

    def __init__(self, n_agents, state_dim, embed=32, hyper=64):
        super().__init__()
        self.n_agents, self.embed = n_agents, embed
        self.w1 = nn.Sequential(nn.Linear(state_dim, hyper), nn.ReLU(), nn.Linear(hyper, n_agents * embed))
        self.w2 = nn.Sequential(nn.Linear(state_dim, hyper), nn.ReLU(), nn.Linear(hyper, embed))
        self.b1 = nn.Linear(state_dim, embed)
        self.v = nn.Sequential(nn.Linear(state_dim, embed), nn.ReLU(), nn.Linear(embed, 1))

    def forward(self, qs, states):
        b, t = qs.shape[:2]
        states = states.reshape(b * t, -1)
        qs = qs.reshape(b * t, 1, self.n_agents)
        w1 = self.w1(states).abs().view(-1, self.n_agents, self.embed)
        hidden = F.elu(torch.bmm(qs, w1) + self.b1(states).unsqueeze(1))
        w2 = self.w2(states).abs().view(-1, self.embed, 1)
        return (torch.bmm(hidden, w2) + self.v(states).unsqueeze(1)).view(b, t)
