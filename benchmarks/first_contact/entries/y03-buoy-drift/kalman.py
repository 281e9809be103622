"""A linear Gaussian state space model that is pushed by a network of the weather."""
import math

import torch
from torch import nn


class DriftFilter(nn.Module):
    def __init__(self, observed, controls, state=12, hidden=96):
        super().__init__()
        self.transition = nn.Parameter(0.9 * torch.eye(state) + 0.02 * torch.randn(state, state))
        self.emission = nn.Parameter(torch.randn(observed, state) / state ** 0.5)
        self.log_process = nn.Parameter(torch.full((state,), -1.0))
        self.log_noise = nn.Parameter(torch.full((observed,), -1.0))
        self.start_mean = nn.Parameter(torch.zeros(state))
        self.log_start = nn.Parameter(torch.zeros(state))
        self.push = nn.Sequential(nn.Linear(controls, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(),
                                  nn.Linear(hidden, state))

    def forward(self, observed, controls):
        """Negative log likelihood of every window, and the one-step forecasts."""
        batch, hours, width = observed.shape
        pushes = self.push(controls)
        a, c = self.transition, self.emission
        q, r = torch.diag(self.log_process.exp()), torch.diag(self.log_noise.exp())
        mean = self.start_mean.expand(batch, -1)
        cov = torch.diag(self.log_start.exp()).expand(batch, -1, -1)
        energy, forecasts = 0.0, []
        for hour in range(hours):
            mean = mean @ a.T + pushes[:, hour]
            cov = a @ cov @ a.T + q
            forecast = mean @ c.T
            surprise = (observed[:, hour] - forecast).unsqueeze(-1)
            cross = c @ cov
            root = torch.linalg.cholesky(cross @ c.T + r)
            gain = torch.cholesky_solve(cross, root).mT
            white = torch.linalg.solve_triangular(root, surprise, upper=False)
            log_det = 2 * root.diagonal(dim1=-2, dim2=-1).log().sum(-1)
            energy = energy + 0.5 * (white.square().sum((-2, -1)) + log_det + width * math.log(2 * math.pi))
            mean = mean + (gain @ surprise).squeeze(-1)
            cov = cov - gain @ cross
            forecasts.append(forecast)
        return energy / hours, torch.stack(forecasts, 1)
