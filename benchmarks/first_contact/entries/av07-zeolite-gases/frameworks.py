"""Made-up zeolite frameworks: T and O sites in a periodic box, uptake of two gases at two pressures."""
from dataclasses import dataclass

import torch


@dataclass
class Framework:
    kinds: torch.Tensor
    src: torch.Tensor
    dst: torch.Tensor
    dist: torch.Tensor
    uptake: torch.Tensor


@dataclass
class Packed:
    kinds: torch.Tensor
    src: torch.Tensor
    dst: torch.Tensor
    dist: torch.Tensor
    owner: torch.Tensor
    uptake: torch.Tensor
    count: int


def make(n, seed, neighbours=20):
    g = torch.Generator().manual_seed(seed)
    out = []
    for _ in range(n):
        atoms = int(torch.randint(40, 64, (1,), generator=g))
        box = 9.0 + 3 * torch.rand(3, generator=g)
        pos = torch.rand(atoms, 3, generator=g) * box
        kinds = torch.randint(0, 6, (atoms,), generator=g)
        d = pos[:, None] - pos[None]
        d = d - box * torch.round(d / box)
        d = d.norm(dim=-1) + 1e3 * torch.eye(atoms)
        dist, nb = d.topk(neighbours, largest=False)
        src = nb.flatten()
        dst = torch.arange(atoms).repeat_interleave(neighbours)
        void = (dist.mean() - 2.8) * 4
        polar = (kinds < 2).float().mean()
        uptake = torch.stack([void + polar, void * polar, void - 0.3 * polar, (void + polar) ** 2 * 0.2])
        out.append(Framework(kinds, src, dst, dist.flatten(), uptake + 0.02 * torch.randn(4, generator=g)))
    return out


def pack(items):
    sizes = torch.tensor([len(f.kinds) for f in items])
    start = torch.cumsum(sizes, 0) - sizes
    return Packed(
        torch.cat([f.kinds for f in items]),
        torch.cat([f.src + s for f, s in zip(items, start)]),
        torch.cat([f.dst + s for f, s in zip(items, start)]),
        torch.cat([f.dist for f in items]),
        torch.repeat_interleave(torch.arange(len(items)), sizes),
        torch.stack([f.uptake for f in items]),
        len(items),
    )
