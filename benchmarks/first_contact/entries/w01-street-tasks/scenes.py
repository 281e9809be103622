"""Small drawn street scenes with three kinds of labels per pixel."""
import torch

CLASSES = 6


def draw_scenes(count, size=48, seed=0):
    """Boxes of different classes standing on a ground plane, drawn from back to front."""
    g = torch.Generator().manual_seed(seed)
    rows = torch.arange(size).view(1, size, 1).float()
    cols = torch.arange(size).view(1, 1, size).float()
    palette = torch.rand(CLASSES, 3, generator=g)
    horizon = size * (0.3 + 0.2 * torch.rand(count, 1, 1, generator=g))

    ground = (rows > horizon).expand(count, size, size)
    labels = ground.long()
    depth = torch.where(ground, (size - rows) / size, torch.ones(()))
    normals = torch.zeros(count, 3, size, size)
    normals[:, 1] = ground.float()
    normals[:, 2] = (~ground).float()
    for step in range(5):
        far = 0.85 - 0.15 * step
        centre = size * torch.rand(count, 1, 1, generator=g)
        foot = horizon + (size - horizon) * (1 - far)
        half = size * (1 - far) * (0.08 + 0.12 * torch.rand(count, 1, 1, generator=g)) + 1
        tall = half * (1 + 3 * torch.rand(count, 1, 1, generator=g))
        kind = torch.randint(2, CLASSES, (count, 1, 1), generator=g)
        box = ((cols - centre).abs() < half) & (rows < foot) & (rows > foot - tall)
        labels = torch.where(box, kind, labels)
        depth = torch.where(box, torch.full((), far), depth)
        lean = (cols - centre) / half
        face = torch.stack([lean, torch.zeros_like(lean), (1 - lean.square()).clamp_min(0.05).sqrt()], 1)
        normals = torch.where(box.unsqueeze(1), face.expand(-1, -1, size, -1), normals)
    shade = 0.5 + 0.5 * normals[:, 2:]
    images = palette[labels].permute(0, 3, 1, 2) * shade + 0.1 * torch.randn(count, 3, size, size, generator=g)
    normals = torch.nn.functional.normalize(normals, dim=1)
    return images.contiguous(), labels, depth.unsqueeze(1), normals


class Scenes:
    """Batches of scenes in a new order each epoch."""

    def __init__(self, count, batch_size, seed, shuffle=True):
        self.parts = draw_scenes(count, seed=seed)
        self.batch_size, self.shuffle = batch_size, shuffle

    def __len__(self):
        return len(self.parts[0]) // self.batch_size

    def __iter__(self):
        count = len(self.parts[0])
        order = torch.randperm(count) if self.shuffle else torch.arange(count)
        for rows in order.split(self.batch_size)[:len(self)]:
            yield tuple(part[rows] for part in self.parts)
