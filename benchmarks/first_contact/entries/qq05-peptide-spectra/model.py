import torch
from torch import nn
from torch.nn import functional as F

from peptides import ALPHABET, MAX_CHARGE


class Block(nn.Module):
    def __init__(self, dim, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.ReLU(), nn.Linear(4 * dim, dim))
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        batch, length, dim = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, length, dim)
        x = x + self.drop(self.proj(mixed))
        return x + self.drop(self.mlp(self.norm2(x)))


class FragmentModel(nn.Module):
    """Relative intensities of y and b ions of charge one to three at every bond."""

    def __init__(self, dim=128, heads=4, layers=3, dropout=0.1, max_length=30):
        super().__init__()
        self.residue = nn.Embedding(len(ALPHABET), dim)
        self.from_start = nn.Parameter(0.02 * torch.randn(max_length, dim))
        self.from_end = nn.Parameter(0.02 * torch.randn(max_length, dim))
        self.charge = nn.Embedding(MAX_CHARGE, dim)
        self.energy = nn.Linear(1, dim)
        self.blocks = nn.ModuleList([Block(dim, heads, dropout) for _ in range(layers)])
        self.norm = nn.LayerNorm(dim)
        self.bond = nn.Sequential(nn.Linear(2 * dim, dim), nn.ReLU(), nn.Linear(dim, 6))

    def forward(self, residues, charge, energy):
        length = residues.shape[1]
        x = self.residue(residues) + self.from_start[:length] + self.from_end[:length].flip(0)
        x = x + (self.charge(charge) + self.energy(energy.unsqueeze(1))).unsqueeze(1)
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return self.bond(torch.cat([x[:, :-1], x[:, 1:]], 2)).sigmoid()


def spectral_angle(predicted, measured):
    """One for the same direction, zero for orthogonal spectra; impossible ions are left out."""
    possible = (measured >= 0).float()
    p = F.normalize((predicted * possible).flatten(1), dim=1)
    m = F.normalize((measured * possible).flatten(1), dim=1)
    cosine = (p * m).sum(1).clamp(-1 + 1e-6, 1 - 1e-6)
    return 1 - 2 * torch.acos(cosine) / torch.pi
