"""A logged data set: a point mass in the plane with drag, driven by controllers of varying skill."""
import torch


class PointMass:
    """Many plants stepped together; the state is place, speed, goal, and some passive readings."""

    def __init__(self, count, readings, generator):
        self.generator = generator
        self.count = count
        self.mixing = torch.randn(6, readings, generator=torch.Generator().manual_seed(99)) / 6 ** 0.5
        self.place = torch.empty(count, 2).uniform_(-1, 1, generator=generator)
        self.goal = torch.empty(count, 2).uniform_(-1, 1, generator=generator)
        self.speed = torch.zeros(count, 2)

    def observe(self):
        core = torch.cat([self.place, self.speed, self.goal], dim=1)
        return torch.cat([core, torch.tanh(core @ self.mixing)], dim=1)

    def step(self, action):
        action = action.clamp(-1, 1)
        self.speed = 0.9 * self.speed + 0.1 * action
        self.place = (self.place + 0.2 * self.speed).clamp(-1.5, 1.5)
        distance = (self.place - self.goal).norm(dim=1)
        reward = -distance - 0.05 * action.square().sum(1)
        reached = distance < 0.05
        fresh = torch.empty(self.count, 2).uniform_(-1, 1, generator=self.generator)
        self.goal = torch.where(reached.unsqueeze(1), fresh, self.goal)
        return reward + reached.float(), reached.float()

    def expert(self):
        return (3.0 * (self.goal - self.place) - 2.0 * self.speed).clamp(-1, 1)


@torch.no_grad()
def collect(plants, steps, readings, seed):
    g = torch.Generator().manual_seed(seed)
    plant = PointMass(plants, readings, g)
    skill = torch.rand(plants, 1, generator=g)
    parts = {"state": [], "action": [], "reward": [], "next": [], "end": []}
    state = plant.observe()
    for _ in range(steps):
        wild = torch.empty(plants, 2).uniform_(-1, 1, generator=g)
        action = skill * plant.expert() + (1 - skill) * wild
        reward, end = plant.step(action)
        after = plant.observe()
        for key, value in zip(parts, (state, action, reward, after, end)):
            parts[key].append(value)
        state = after
    return {key: torch.cat(value) for key, value in parts.items()}


class Replay:
    def __init__(self, data, batch_size, seed):
        self.data, self.batch_size = data, batch_size
        self.size = len(data["reward"])
        self.generator = torch.Generator().manual_seed(seed)

    def sample(self):
        rows = torch.randint(self.size, (self.batch_size,), generator=self.generator)
        return {key: value.index_select(0, rows) for key, value in self.data.items()}
