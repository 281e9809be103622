import math

import torch


class Heston:
    """Spot with stochastic variance, full truncation Euler scheme."""

    def __init__(self, spot=1.0, v0=0.04, kappa=1.5, theta=0.04, xi=0.5, rho=-0.7, maturity=30 / 365, steps=30):
        self.spot, self.v0, self.kappa, self.theta = spot, v0, kappa, theta
        self.xi, self.rho, self.maturity, self.steps = xi, rho, maturity, steps
        self.dt = maturity / steps

    def simulate(self, n, generator):
        """Log spot and variance at the dates 0..steps, time first."""
        noise = torch.randn(self.steps, 2, n, generator=generator)
        first = noise[:, 0]
        second = self.rho * first + math.sqrt(1 - self.rho ** 2) * noise[:, 1]
        root = math.sqrt(self.dt)
        v = torch.full((n,), self.v0)
        variances, moves = [v], []
        for t in range(self.steps):
            vp = v.clamp(min=0)
            sd = vp.sqrt() * root
            moves.append(sd * first[t] - 0.5 * vp * self.dt)
            v = v + self.kappa * (self.theta - vp) * self.dt + self.xi * sd * second[t]
            variances.append(v)
        log_spot = torch.cat([torch.zeros(1, n), torch.stack(moves).cumsum(0)])
        return log_spot, torch.stack(variances).clamp(min=0)


def variance_swap(variance, heston):
    """Value at each date of the variance realised up to maturity."""
    left = heston.maturity - torch.arange(heston.steps + 1).unsqueeze(1) * heston.dt
    realised = torch.cat([torch.zeros(1, variance.shape[1]), (variance[:-1] * heston.dt).cumsum(0)])
    mean_reverting = (1 - torch.exp(-heston.kappa * left)) / heston.kappa
    return realised + (variance - heston.theta) * mean_reverting + heston.theta * left
