import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).reshape(b, n, d))


class Block(nn.Module):
    def __init__(self, dim, heads, ratio):
        super().__init__()
        self.norm1, self.attn = nn.LayerNorm(dim), Attention(dim, heads)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, ratio * dim), nn.GELU(approximate="tanh"), nn.Linear(ratio * dim, dim))

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class WeatherTransformer(nn.Module):
    """Patches of the global state in, tendency of the next six hours out."""

    def __init__(self, variables, constants, height, width, patch=4, dim=192, depth=3, heads=6, ratio=4):
        super().__init__()
        self.variables, self.patch = variables, patch
        self.grid = (height // patch, width // patch)
        self.register_buffer("constants", constants)
        self.embed = nn.Linear((variables + len(constants)) * patch * patch, dim)
        self.position = nn.Parameter(torch.zeros(1, self.grid[0] * self.grid[1], dim))
        self.blocks = nn.ModuleList(Block(dim, heads, ratio) for _ in range(depth))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, variables * patch * patch)
        nn.init.trunc_normal_(self.position, std=0.02)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def patchify(self, x):
        b, c = x.shape[:2]
        (gh, gw), p = self.grid, self.patch
        return x.view(b, c, gh, p, gw, p).permute(0, 2, 4, 1, 3, 5).reshape(b, gh * gw, c * p * p)

    def unpatchify(self, x):
        b = x.shape[0]
        (gh, gw), p = self.grid, self.patch
        return x.view(b, gh, gw, self.variables, p, p).permute(0, 3, 1, 4, 2, 5).reshape(b, self.variables, gh * p, gw * p)

    def forward(self, state):
        fixed = self.constants.expand(state.shape[0], -1, -1, -1)
        x = self.embed(self.patchify(torch.cat([state, fixed], 1))) + self.position
        for block in self.blocks:
            x = block(x)
        return state + self.unpatchify(self.head(self.norm(x)))
