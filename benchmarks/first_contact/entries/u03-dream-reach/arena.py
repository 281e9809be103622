"""A disc is to be pushed to a spot; observations are small pictures. All arenas step at once."""
import torch


class Arena:
    size = 20

    def __init__(self, count, limit=32, seed=0):
        self.count, self.limit = count, limit
        self.generator = torch.Generator().manual_seed(seed)
        axis = torch.linspace(-1, 1, self.size)
        self.grid = torch.stack(torch.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
        self.reset()

    def reset(self):
        self.position = torch.rand(self.count, 2, generator=self.generator) * 2 - 1
        self.speed = torch.zeros(self.count, 2)
        self.goal = torch.rand(self.count, 2, generator=self.generator) * 1.6 - 0.8
        self.clock = 0
        return self.picture()

    def picture(self):
        disc = (self.grid - self.position[:, None]).square().sum(-1)
        spot = (self.grid - self.goal[:, None]).square().sum(-1)
        return torch.exp(-disc / 0.03) - 0.5 * torch.exp(-spot / 0.03)

    def step(self, action):
        self.speed = 0.8 * self.speed + 0.12 * action
        self.position = (self.position + self.speed).clamp(-1, 1)
        reward = 1.0 - (self.position - self.goal).norm(dim=-1)
        self.clock += 1
        return self.picture(), reward, self.clock >= self.limit
