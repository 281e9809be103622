import math

import torch


class ForceField:
    def __init__(self, model, neighbors, species, box):
        self.model = model
        self.neighbors = neighbors
        self.species = species
        self.box = box

    def __call__(self, pos):
        src, dst = self.neighbors(pos)
        pos = pos.detach().requires_grad_(True)
        energy = self.model(pos, self.species, self.box, src, dst)
        (grad,) = torch.autograd.grad(energy, pos)
        return energy.detach(), -grad


class Langevin:
    """Velocity Verlet with an Ornstein-Uhlenbeck half step at both ends (OBABO)."""

    def __init__(self, field, mass, dt, temperature, friction, generator):
        self.field = field
        self.mass = mass[:, None]
        self.dt = dt
        self.generator = generator
        self.decay = math.exp(-0.5 * friction * dt)
        self.kick = (temperature * (1 - self.decay ** 2) / self.mass).sqrt()

    def thermostat(self, vel):
        noise = torch.randn(vel.shape, generator=self.generator)
        return self.decay * vel + self.kick * noise

    def step(self, pos, vel):
        vel = self.thermostat(vel)
        _, force = self.field(pos)
        vel = vel + 0.5 * self.dt * force / self.mass
        pos = pos + self.dt * vel
        energy, force = self.field(pos)
        vel = vel + 0.5 * self.dt * force / self.mass
        vel = self.thermostat(vel)
        return pos, vel, energy
