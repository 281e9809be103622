import torch
from torch import nn


def mlp(inside, hidden, outside):
    return nn.Sequential(nn.Linear(inside, hidden), nn.SiLU(), nn.Linear(hidden, outside))


class Interaction(nn.Module):
    """The first layer of the message is split by its inputs, so that sender and receiver are projected once a
    bird and only the offsets once an edge."""

    def __init__(self, width):
        super().__init__()
        self.receiver = nn.Linear(width, width)
        self.sender = nn.Linear(width, width, bias=False)
        self.edge = nn.Linear(3, width, bias=False)
        self.message = nn.Linear(width, width)
        self.update = mlp(2 * width, width, width)

    def forward(self, x, source, sink, offset):
        hidden = self.receiver(x).index_select(0, sink) + self.sender(x).index_select(0, source) + self.edge(offset)
        message = self.message(nn.functional.silu(hidden))
        received = torch.zeros_like(x).index_add(0, sink, message)
        return x + self.update(torch.cat([x, received], 1))


class FlockSimulator(nn.Module):
    def __init__(self, width, layers, neighbours):
        super().__init__()
        self.neighbours = neighbours
        self.encode = mlp(6, width, width)
        self.layers = nn.ModuleList(Interaction(width) for _ in range(layers))
        self.decode = mlp(width, width, 2)

    @torch.no_grad()
    def graph(self, place):
        batch, birds, _ = place.shape
        near = torch.cdist(place, place).topk(self.neighbours + 1, dim=2, largest=False).indices[:, :, 1:]
        first = (torch.arange(batch) * birds).view(-1, 1, 1)
        sink = torch.arange(batch * birds).repeat_interleave(self.neighbours)
        return (near + first).flatten(), sink

    def forward(self, before, now):
        """The acceleration of each bird in the coming frame."""
        batch, birds, _ = now.shape
        source, sink = self.graph(now)
        flat, speed = now.flatten(0, 1), (now - before).flatten(0, 1)
        apart = flat[source] - flat[sink]
        offset = torch.cat([apart, apart.square().sum(1, keepdim=True)], 1)
        x = self.encode(torch.cat([speed * 5, flat, speed.square() * 25], 1))
        for layer in self.layers:
            x = layer(x, source, sink, offset)
        return 0.1 * self.decode(x).view(batch, birds, 2)


@torch.no_grad()
def rollout(model, before, now, frames):
    path = []
    for _ in range(frames):
        ahead = 2 * now - before + model(before, now)
        before, now = now, ahead
        path.append(now)
    return torch.stack(path, 1)
