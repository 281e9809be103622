"""Many gantry cranes at once: a trolley on a rail with a hanging load, to be brought to a goal without swing."""
import torch


class Crane:
    state_size, action_size = 4, 1  # trolley position and speed, swing angle and rate
    weight = torch.tensor([1.0, 0.1, 2.0, 0.2])

    def __init__(self, count, seed, dt=0.1):
        self.count, self.dt = count, dt
        self.generator = torch.Generator().manual_seed(seed)
        self.state = torch.zeros(count, 4)
        self.reset()

    def reset(self):
        spread = torch.tensor([2.0, 0.3, 0.4, 0.3])
        self.state = (2 * torch.rand(self.count, 4, generator=self.generator) - 1) * spread
        return self.state

    def step(self, action):
        x, v, angle, rate = self.state.unbind(1)
        force = 2.5 * action.squeeze(1).clamp(-1, 1)
        h = self.dt / 4
        for _ in range(4):
            sin, cos = angle.sin(), angle.cos()
            acceleration = (force - 0.4 * v + 0.3 * sin * (rate**2 + 9.81 * cos)) / (1.0 + 0.3 * sin**2)
            swing = -(9.81 * sin + acceleration * cos) / 1.2 - 0.05 * rate
            v, rate = v + h * acceleration, rate + h * swing
            x, angle = x + h * v, angle + h * rate
        self.state = torch.stack([x, v, angle, rate], 1)
        return self.state, self.cost(self.state, action)

    @classmethod
    def cost(cls, state, action):
        return state.square() @ cls.weight + 0.02 * action.square().sum(-1)
