"""Crushing stress of the grains in a catalyst pellet: message passing over the contacts between grains."""
import math

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(30)
PELLETS, GRAINS, NEIGHBOURS = 160, 150, 8
DIM, LAYERS, CENTRES, REACH = 48, 3, 40, 0.5
BATCH, EPOCHS = 8, 55


def make_pellet(g):
    """Grains at random places, each touching its nearest ones; stress spreads from the loaded faces."""
    place = torch.rand(GRAINS, 3, generator=g)
    size = 0.5 + torch.rand(GRAINS, 1, generator=g)
    far = torch.cdist(place, place)
    far.fill_diagonal_(9.0)
    near = far.topk(NEIGHBOURS, largest=False)
    src = near.indices.flatten()
    dst = torch.arange(GRAINS).repeat_interleave(NEIGHBOURS)
    load = torch.exp(-4 * place[:, 2]) + torch.exp(-4 * (1 - place[:, 2]))
    stiff = torch.exp(-6 * near.values)
    for _ in range(4):
        load = 0.5 * load + 0.5 * (stiff * load[near.indices]).sum(1) / stiff.sum(1)
    porous = (torch.rand(GRAINS, 1, generator=g) < 0.15).float()
    stress = load / size[:, 0] * (1 - 0.6 * porous[:, 0])
    inputs = torch.cat([size, porous, place[:, 2:], 1 - place[:, 2:]], 1)
    return {"x": inputs, "place": place, "src": src, "dst": dst, "y": stress.log()}


def join(pellets):
    offsets = [i * GRAINS for i in range(len(pellets))]
    batch = {k: torch.cat([p[k] for p in pellets]) for k in ("x", "place", "y")}
    batch["src"] = torch.cat([p["src"] + o for p, o in zip(pellets, offsets)])
    batch["dst"] = torch.cat([p["dst"] + o for p, o in zip(pellets, offsets)])
    return batch


class ContactBasis(nn.Module):
    """Gaussians of the distance between two grains, faded out at the reach."""

    def __init__(self, centres, reach):
        super().__init__()
        self.register_buffer("centres", torch.linspace(0, reach, centres))
        self.width, self.reach = reach / centres, reach

    def forward(self, place, src, dst):
        gap = (place[src] - place[dst]).norm(dim=1, keepdim=True)
        fade = 0.5 * (torch.cos(math.pi * gap.clamp(max=self.reach) / self.reach) + 1)
        return fade * torch.exp(-((gap - self.centres) / self.width) ** 2)


class ContactLayer(nn.Module):
    def __init__(self, dim, basis):
        super().__init__()
        self.basis = basis
        self.filter = nn.Linear(len(basis.centres), dim)
        self.sender, self.receiver = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.update = nn.GRUCell(dim, dim)

    def forward(self, h, place, src, dst):
        shape = self.filter(self.basis(place, src, dst))
        message = F.silu(self.sender(h)[src] + self.receiver(h)[dst]) * shape
        pooled = torch.zeros_like(h).index_add(0, dst, message)
        return self.update(pooled, h)


class PelletNet(nn.Module):
    def __init__(self, dim=DIM, layers=LAYERS):
        super().__init__()
        basis = ContactBasis(CENTRES, REACH)
        self.embed = nn.Linear(4, dim)
        self.layers = nn.ModuleList([ContactLayer(dim, basis) for _ in range(layers)])
        self.read = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, 1))

    def forward(self, batch):
        h = self.embed(batch["x"])
        for layer in self.layers:
            h = layer(h, batch["place"], batch["src"], batch["dst"])
        return self.read(h).squeeze(1)


@torch.no_grad()
def test(net, pellets):
    net.eval()
    batch = join(pellets)
    error = (net(batch) - batch["y"]).pow(2).mean()
    net.train()
    return 1 - (error / batch["y"].var()).item()


def train():
    g = torch.Generator().manual_seed(8)
    pellets = [make_pellet(g) for _ in range(PELLETS)]
    held, pellets = pellets[:12], pellets[12:]
    # everything as seen from the mean stress of the training pellets
    centre = torch.stack([p["y"].mean() for p in pellets]).mean()
    for p in held + pellets:
        p["y"] = p["y"] - centre
    net = PelletNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3, fused=True)
    plan = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.97)
    best = -math.inf
    for epoch in range(EPOCHS):
        order = torch.randperm(len(pellets), generator=g).tolist()
        losses = []
        for first in range(0, len(order) - BATCH + 1, BATCH):
            batch = join([pellets[i] for i in order[first:first + BATCH]])
            loss = F.smooth_l1_loss(net(batch), batch["y"], beta=0.2)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        plan.step()
        if epoch % 5 == 4:
            r2 = test(net, held)
            print(f"epoch {epoch:3d}  loss {torch.stack(losses).mean():.4f}  R2 on held pellets {r2:.3f}")
            if r2 > best:
                best = r2
                torch.save(net.state_dict(), "pellet.pt")


if __name__ == "__main__":
    train()
