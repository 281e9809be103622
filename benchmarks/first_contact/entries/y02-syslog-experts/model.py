"""A causal transformer whose feed-forward blocks are mixtures of experts."""
import torch
import torch.nn.functional as F
from torch import nn


class Expert(nn.Sequential):
    def __init__(self, width, hidden):
        super().__init__(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))


class MixtureOfExperts(nn.Module):
    """Each token goes to the experts that its gate likes best."""

    def __init__(self, width, hidden, experts, active):
        super().__init__()
        self.gate = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(Expert(width, hidden) for _ in range(experts))
        self.active = active

    def forward(self, x):
        tokens = x.reshape(-1, x.shape[-1])
        logits = self.gate(tokens)
        best, chosen = logits.topk(self.active, dim=-1)
        weights = torch.zeros_like(logits).scatter(1, chosen, best.softmax(-1))
        outputs = torch.stack([expert(tokens) for expert in self.experts], dim=1)
        mixed = (weights.unsqueeze(-1) * outputs).sum(1)
        return mixed.view_as(x), self.balance(logits, weights)

    @staticmethod
    def balance(logits, weights):
        """The usual auxiliary loss: experts should get equal shares of the tokens."""
        share = (weights > 0).float().mean(0)
        return logits.shape[1] * (share * logits.softmax(-1).mean(0)).sum()


class Block(nn.Module):
    def __init__(self, width, heads, hidden, experts, active):
        super().__init__()
        self.heads = heads
        self.norm_attention = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)
        self.norm_mixture = nn.LayerNorm(width)
        self.mixture = MixtureOfExperts(width, hidden, experts, active)

    def forward(self, x):
        b, t, w = x.shape
        q, k, v = self.qkv(self.norm_attention(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(attended.transpose(1, 2).reshape(b, t, w))
        mixed, balance = self.mixture(self.norm_mixture(x))
        return x + mixed, balance


class LogModel(nn.Module):
    def __init__(self, vocabulary, length, width=96, heads=4, layers=2, hidden=192, experts=8, active=2):
        super().__init__()
        self.event = nn.Embedding(vocabulary, width)
        self.place = nn.Parameter(0.02 * torch.randn(length, width))
        self.blocks = nn.ModuleList(Block(width, heads, hidden, experts, active) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, vocabulary)

    def forward(self, events):
        x = self.event(events) + self.place[:events.shape[1]]
        balance = 0.0
        for block in self.blocks:
            x, extra = block(x)
            balance = balance + extra
        return self.out(self.norm(x)), balance
