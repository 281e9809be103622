import torch
import torch.nn as nn
import torch.nn.functional as F


def sincos(grid, dim):
    omega = 1.0 / 10000 ** (torch.arange(dim // 4) / (dim // 4))
    y, x = torch.meshgrid(torch.arange(grid), torch.arange(grid), indexing="ij")
    parts = [f(axis.reshape(-1, 1) * omega) for axis in (y, x) for f in (torch.sin, torch.cos)]
    return torch.cat(parts, dim=1).unsqueeze(0)


class Block(nn.Module):
    def __init__(self, dim, heads, ratio=4):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.norm2 = nn.LayerNorm(dim)
        self.fc1 = nn.Linear(dim, ratio * dim)
        self.fc2 = nn.Linear(ratio * dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4).contiguous()
        y = F.scaled_dot_product_attention(q, k, v)
        x = x + self.proj(y.transpose(1, 2).reshape(b, n, d))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))


class MaskedAutoencoder(nn.Module):
    def __init__(self, size=64, patch=8, dim=128, depth=4, heads=4, dec_dim=64, dec_depth=2, dec_heads=2, mask_ratio=0.75):
        super().__init__()
        self.patch = patch
        self.grid = size // patch
        self.tokens = self.grid**2
        self.keep = int(self.tokens * (1 - mask_ratio))
        self.embed = nn.Linear(3 * patch * patch, dim)
        self.register_buffer("position", sincos(self.grid, dim))
        self.encoder = nn.Sequential(*[Block(dim, heads) for _ in range(depth)], nn.LayerNorm(dim))
        self.bridge = nn.Linear(dim, dec_dim)
        self.mask_token = nn.Parameter(torch.zeros(1, 1, dec_dim))
        self.register_buffer("dec_position", sincos(self.grid, dec_dim))
        self.decoder = nn.Sequential(*[Block(dec_dim, dec_heads) for _ in range(dec_depth)], nn.LayerNorm(dec_dim))
        self.head = nn.Linear(dec_dim, 3 * patch * patch)
        nn.init.normal_(self.mask_token, std=0.02)

    def patchify(self, images):
        b, p, g = len(images), self.patch, self.grid
        return images.view(b, 3, g, p, g, p).permute(0, 2, 4, 1, 3, 5).reshape(b, self.tokens, 3 * p * p)

    def forward(self, images):
        patches = self.patchify(images)
        b = len(patches)
        order = torch.rand(b, self.tokens).argsort(dim=1)
        shown, hidden = order[:, :self.keep], order[:, self.keep:]
        pick = lambda x, idx: x.gather(1, idx.unsqueeze(-1).expand(-1, -1, x.size(-1)))

        visible = self.embed(pick(patches, shown)) + self.position[0][shown]
        latent = self.bridge(self.encoder(visible)) + self.dec_position[0][shown]
        queries = self.mask_token + self.dec_position[0][hidden]
        decoded = self.decoder(torch.cat([latent, queries], dim=1))
        predicted = self.head(decoded[:, self.keep:])

        target = pick(patches, hidden)
        mean, var = target.mean(-1, keepdim=True), target.var(-1, keepdim=True)
        return F.mse_loss(predicted, (target - mean) / (var + 1e-6).sqrt())

    def represent(self, images):
        return self.encoder(self.embed(self.patchify(images)) + self.position).mean(1)
