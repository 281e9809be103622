import torch
from torch import nn
import torch.nn.functional as F


class Residual(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x):
        return x + self.down(F.relu(self.up(self.norm(x))))


class BlendModel(nn.Module):
    def __init__(self, materials, accords, width, inner, depth):
        super().__init__()
        self.material = nn.EmbeddingBag(materials, width, mode="sum")
        nn.init.normal_(self.material.weight, std=0.5)
        self.body = nn.Sequential(*(Residual(width, inner) for _ in range(depth)), nn.LayerNorm(width))
        self.accords, self.lasting = nn.Linear(width, accords), nn.Linear(width, 1)

    def forward(self, batch):
        x = self.body(self.material(batch.materials, batch.offsets, per_sample_weights=batch.doses))
        return self.accords(x), self.lasting(x).squeeze(1)


class TwoTasks(nn.Module):
    """Both losses weighed by a learnt uncertainty (Kendall et al.)."""

    def __init__(self, positive):
        super().__init__()
        self.register_buffer("positive", positive)
        self.log_var = nn.Parameter(torch.zeros(2))

    def forward(self, logits, lasting, batch):
        a = F.binary_cross_entropy_with_logits(logits, batch.accords, pos_weight=self.positive)
        b = F.mse_loss(lasting, batch.lasting)
        both = torch.stack([a, b])
        return (both * torch.exp(-self.log_var) + 0.5 * self.log_var).sum(), both.detach()
