import torch
from torch import nn
from torch.nn import functional as F


class Layer(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads = heads
        self.norm_mix, self.norm_feed = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.join = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        batch, length, width = x.shape
        h = self.norm_mix(x)
        q, k, v = (f(h).view(batch, length, self.heads, -1).transpose(1, 2) for f in (self.query, self.key, self.value))
        h = F.scaled_dot_product_attention(q, k, v)
        x = x + self.drop(self.join(h.transpose(1, 2).reshape(batch, length, width)))
        return x + self.drop(self.down(F.gelu(self.up(self.norm_feed(x)))))


class RoofForecaster(nn.Module):
    """Patches of the past week at the probes in a thatch, with the weather, to the next two days' moisture."""

    def __init__(self, channels, past, ahead, patch=8, width=64, depth=6, heads=4, dropout=0.1):
        super().__init__()
        self.patch = patch
        self.embed = nn.Linear(channels * patch, width)
        self.place = nn.Parameter(torch.zeros(past // patch, width))
        self.layers = nn.ModuleList(Layer(width, heads, dropout) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, ahead)

    def forward(self, x):
        batch, length, channels = x.shape
        x = self.embed(x.reshape(batch, length // self.patch, self.patch * channels)) + self.place
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x).mean(1))


def layerwise_groups(model, base_lr, decay, weight_decay):
    """Lower layers learn more slowly; norms, biases and positions are not decayed."""
    depth = len(model.layers)
    groups = []
    for name, parameter in model.named_parameters():
        if name.startswith("layers."):
            level = int(name.split(".")[1]) + 1
        else:
            level = 0 if name.startswith(("embed", "place")) else depth + 1
        plain = parameter.ndim < 2 or name == "place"
        groups.append({
            "params": [parameter],
            "lr": base_lr * decay ** (depth + 1 - level),
            "weight_decay": 0.0 if plain else weight_decay,
            "name": name,
        })
    return groups
