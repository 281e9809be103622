"""A ring of cameras around a small drawn scene, and the rays through their pixels."""
import math

import torch


def look_at(position):
    """Camera to world matrix of a camera at a position that looks at the origin."""
    back = torch.nn.functional.normalize(position, dim=0)
    right = torch.nn.functional.normalize(torch.linalg.cross(torch.tensor([0.0, 0.0, 1.0]), back), dim=0)
    up = torch.linalg.cross(back, right)
    return torch.cat([torch.stack([right, up, back], 1), position.unsqueeze(1)], 1)


def orbit(count, radius=4.0, seed=0):
    g = torch.Generator().manual_seed(seed)
    poses = []
    for i in range(count):
        turn = 2 * math.pi * i / count
        tilt = 0.15 + 0.9 * torch.rand((), generator=g).item()
        poses.append(look_at(radius * torch.tensor(
            [math.cos(turn) * math.cos(tilt), math.sin(turn) * math.cos(tilt), math.sin(tilt)])))
    return torch.stack(poses)


def camera_rays(pose, height, width, focal):
    """Origins and directions of the rays through all pixels of a picture."""
    rows, columns = torch.meshgrid(torch.arange(height, dtype=torch.float32),
                                   torch.arange(width, dtype=torch.float32), indexing="ij")
    directions = torch.stack([(columns - 0.5 * width) / focal, -(rows - 0.5 * height) / focal,
                              -torch.ones_like(rows)], -1)
    directions = (directions.unsqueeze(-2) * pose[:, :3]).sum(-1)
    origins = pose[:, 3].expand_as(directions)
    return origins, directions


class Balls:
    """A handful of coloured balls on a white ground, rendered exactly."""

    def __init__(self, count=7, seed=3):
        g = torch.Generator().manual_seed(seed)
        self.centre = 1.6 * torch.rand(count, 3, generator=g) - 0.8
        self.radius = 0.25 + 0.25 * torch.rand(count, generator=g)
        self.colour = torch.rand(count, 3, generator=g)
        self.light = torch.nn.functional.normalize(torch.tensor([0.5, 0.3, 0.8]), dim=0)

    def picture(self, pose, height, width, focal):
        origins, directions = camera_rays(pose, height, width, focal)
        directions = torch.nn.functional.normalize(directions, dim=-1)
        picture = torch.ones(height, width, 3)
        nearest = torch.full((height, width), math.inf)
        for centre, radius, colour in zip(self.centre, self.radius, self.colour):
            offset = origins - centre
            b = (offset * directions).sum(-1)
            inside = b.square() - offset.square().sum(-1) + radius ** 2
            distance = -b - inside.clamp_min(0).sqrt()
            hit = (inside > 0) & (distance < nearest)
            normal = (offset + distance.unsqueeze(-1) * directions) / radius
            shade = 0.3 + 0.7 * (normal @ self.light).clamp_min(0)
            picture = torch.where(hit.unsqueeze(-1), colour * shade.unsqueeze(-1), picture)
            nearest = torch.where(hit, distance, nearest)
        return picture


class PictureSet:
    """Training pictures of the rig; draws random rays from one picture at a time."""

    def __init__(self, count, size, focal, seed):
        self.size, self.focal = size, focal
        self.poses = orbit(count, seed=seed)
        scene = Balls()
        self.pictures = torch.stack([scene.picture(pose, size, size, focal) for pose in self.poses])

    def __len__(self):
        return len(self.poses)

    def sample(self, rays, centre_only=False):
        index = torch.randint(len(self), ()).item()
        origins, directions = camera_rays(self.poses[index], self.size, self.size, self.focal)
        margin = self.size // 4 if centre_only else 0
        side = torch.arange(margin, self.size - margin)
        coords = torch.stack(torch.meshgrid(side, side, indexing="ij"), -1).reshape(-1, 2)
        rows, columns = coords[torch.randperm(len(coords))[:rays]].unbind(1)
        return origins[rows, columns], directions[rows, columns], self.pictures[index, rows, columns]
