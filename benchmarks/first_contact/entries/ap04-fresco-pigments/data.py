import torch
from torch.nn import functional as F

PIGMENTS = ("lime white", "yellow ochre", "red ochre", "green earth", "smalt", "azurite", "cinnabar", "lamp black", "malachite", "bare plaster")


def patches(number, bands, size, seed):
    """Reflectance cubes of patches of a wall: mixtures of two or three pigments with soft borders under
    a veil of salts. The label is the pigment that covers most of the middle."""
    generator = torch.Generator().manual_seed(seed)
    library = torch.Generator().manual_seed(5)
    wave = torch.linspace(0, 1, bands)
    centre = torch.rand(len(PIGMENTS), 3, generator=library)
    breadth = 0.05 + 0.2 * torch.rand(len(PIGMENTS), 3, generator=library)
    height = torch.rand(len(PIGMENTS), 3, generator=library)
    spectra = (height[..., None] * torch.exp(-((wave - centre[..., None]) / breadth[..., None]) ** 2)).sum(1)
    cubes, labels = [], []
    for start in range(0, number, 500):
        count = min(500, number - start)
        field = torch.randn(count, len(PIGMENTS), 5, 5, generator=generator) * 2
        present = torch.rand(count, len(PIGMENTS), generator=generator).topk(3, dim=1).indices
        gate = torch.full((count, len(PIGMENTS)), -30.0).scatter_(1, present, 0.0)
        cover = F.interpolate(field, size=size, mode="bicubic") + gate[..., None, None]
        cover = cover.softmax(1)
        middle = cover[..., size // 4:-(size // 4), size // 4:-(size // 4)].mean((2, 3))
        cube = torch.einsum("npij,pb->nbij", cover, spectra)
        veil = 0.25 * torch.rand(count, 1, 1, 1, generator=generator)
        cube = (1 - veil) * cube + veil + 0.04 * torch.randn(cube.shape, generator=generator)
        cubes.append(cube)
        labels.append(middle.argmax(1))
    return torch.cat(cubes).contiguous(memory_format=torch.channels_last), torch.cat(labels)


def batches(cubes, labels, size, generator):
    order = torch.randperm(len(labels), generator=generator)
    for start in range(0, len(order) - size + 1, size):
        rows = order[start:start + size]
        yield cubes[rows], labels[rows]


def mixup(cubes, labels, alpha, generator):
    share = torch._sample_dirichlet(torch.full((len(labels), 2), alpha), generator)[:, 0]
    other = torch.randperm(len(labels), generator=generator)
    weight = share.view(-1, 1, 1, 1)
    return torch.lerp(cubes[other], cubes, weight), labels, labels[other], share


def turn(cubes, generator):
    number = int(torch.randint(4, (1,), generator=generator))
    if number % 2:
        cubes = cubes.flip(3)
    return cubes.transpose(2, 3) if number >= 2 else cubes
