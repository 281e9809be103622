import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, dim, heads, ratio, drop_path):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.up = nn.Linear(dim, ratio * dim)
        self.down = nn.Linear(ratio * dim, dim)
        self.drop_path = drop_path

    def keep(self, branch):
        """Stochastic depth: drops the branch for whole samples."""
        if not self.training or self.drop_path == 0:
            return branch
        chance = 1 - self.drop_path
        mask = torch.rand(branch.size(0), 1, 1, device=branch.device).lt(chance).to(branch.dtype)
        return branch * (mask / chance)

    def attend(self, x):
        n, length, dim = x.shape
        q, k, v = self.qkv(x).view(n, length, 3, self.heads, dim // self.heads).permute(2, 0, 3, 1, 4)
        out = F.scaled_dot_product_attention(q, k, v)
        return self.proj(out.transpose(1, 2).reshape(n, length, dim))

    def forward(self, x):
        x = x + self.keep(self.attend(self.norm1(x)))
        return x + self.keep(self.down(F.relu(self.up(self.norm2(x)))))


class BladeTransformer(nn.Module):
    def __init__(self, channels, classes, length=1024, patch=16, dim=128, depth=4, heads=4, ratio=3, drop_path=0.1):
        super().__init__()
        self.patch = patch
        self.embed = nn.Linear(channels * patch, dim)
        self.position = nn.Parameter(torch.zeros(1, length // patch, dim))
        self.blocks = nn.ModuleList(
            Block(dim, heads, ratio, drop_path * index / max(1, depth - 1)) for index in range(depth)
        )
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)
        nn.init.trunc_normal_(self.position, std=0.02)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=0.03)
                nn.init.zeros_(module.bias)

    def forward(self, x):
        n, channels, length = x.shape
        patches = x.view(n, channels, length // self.patch, self.patch).transpose(1, 2).flatten(2)
        x = self.embed(patches) + self.position
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x).mean(1))
