import torch
from torch import nn
from torch.nn import functional as F


class AddressNet(nn.Module):
    """Letters are embedded, then convolved at three widths and pooled over the address."""

    def __init__(self, letters, embedding=24, channels=64, widths=(3, 5, 7), hidden=128, dropout=0.2):
        super().__init__()
        self.embed = nn.Conv1d(letters, embedding, 1, bias=False)
        self.branches = nn.ModuleList(nn.Conv1d(embedding, channels, w, padding=w // 2) for w in widths)
        self.norm = nn.LayerNorm(channels * len(widths))
        self.classify = nn.Sequential(
            nn.Linear(channels * len(widths), hidden), nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, 1))

    def forward(self, letters):
        x = self.embed(letters)
        pooled = [F.relu(branch(x)).amax(dim=2) for branch in self.branches]
        return self.classify(self.norm(torch.cat(pooled, dim=1))).squeeze(1)
