import torch
from torch import nn

from make_data import NUM_ROLES, NUM_SKILLS, NUMERIC


class Screener(nn.Module):
    """Tabular network whose representation is kept independent of age and group."""

    def __init__(self, width=256, z_dim=32, skill_dim=64, role_dim=16):
        super().__init__()
        self.skills = nn.EmbeddingBag(NUM_SKILLS, skill_dim, mode="sum")
        self.roles = nn.Embedding(NUM_ROLES, role_dim)
        self.inp = nn.Linear(len(NUMERIC) + skill_dim + role_dim, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.ReLU(),
                          nn.Linear(width, width)) for _ in range(2))
        self.to_z = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, z_dim), nn.Tanh())
        self.head = nn.Sequential(nn.Linear(z_dim, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, batch):
        x = torch.cat([batch["numeric"], self.skills(batch["skills"], batch["offsets"]),
                       self.roles(batch["role"])], dim=1)
        x = self.inp(x)
        for block in self.blocks:
            x = x + block(x)
        z = self.to_z(x)
        return self.head(z).squeeze(1), z
