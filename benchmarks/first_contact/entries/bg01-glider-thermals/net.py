import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import MultivariateNormal
from torch.nn.utils.parametrizations import orthogonal


class AirmassMemory(nn.Module):
    """Slow memory of the surrounding air, rotated once per leg and nudged by the fast state."""

    def __init__(self, size, fast):
        super().__init__()
        self.rotate = orthogonal(nn.Linear(size, size, bias=False))
        self.read = nn.Linear(fast, size)
        self.gate = nn.Linear(fast, size)

    def forward(self, memory, fast):
        keep = torch.sigmoid(self.gate(fast))
        return keep * self.rotate(memory) + (1 - keep) * torch.tanh(self.read(fast))


class ThermalNet(nn.Module):
    def __init__(self, channels, noise_cov, hidden=96, memory=64, leg=6, modes=3):
        super().__init__()
        self.leg = leg
        self.memory_size = memory
        self.embed = nn.Linear(channels, 48)
        self.fast = nn.GRU(48 + memory, hidden, batch_first=True)
        self.slow = AirmassMemory(memory, hidden)
        self.state = nn.Sequential(nn.Linear(hidden, 64), nn.SiLU(), nn.Linear(64, channels))
        self.mode = nn.Linear(hidden, modes)
        self.register_buffer("noise_cov", torch.as_tensor(noise_cov))

    def forward(self, trace):
        x = F.silu(self.embed(trace))
        memory = x.new_zeros(x.size(0), self.memory_size)
        h = None
        outs = []
        for chunk in x.split(self.leg, dim=1):
            context = memory.unsqueeze(1).expand(-1, chunk.size(1), -1)
            out, h = self.fast(torch.cat([chunk, context], dim=-1), h)
            memory = self.slow(memory, out[:, -1])
            outs.append(out)
        out = torch.cat(outs, dim=1)
        return trace + self.state(out), self.mode(out)

    def nll(self, mean, target):
        dist = MultivariateNormal(mean, covariance_matrix=self.noise_cov)
        return -dist.log_prob(target).mean()
