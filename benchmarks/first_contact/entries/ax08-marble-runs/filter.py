import torch
from torch import nn
from torch.distributions import MultivariateNormal


class LinearDynamics(nn.Module):
    """z' = A z + noise, a = C z + noise, with learned matrices and learned diagonal noises; the likelihood of a by the Kalman filter."""

    def __init__(self, state, seen):
        super().__init__()
        self.state, self.seen = state, seen
        self.A = nn.Parameter(torch.eye(state) + 0.02 * torch.randn(state, state))
        self.C = nn.Parameter(0.3 * torch.randn(seen, state))
        self.log_q = nn.Parameter(torch.full((state,), -3.0))
        self.log_r = nn.Parameter(torch.full((seen,), -2.0))
        self.start = nn.Parameter(torch.zeros(state))
        self.log_start = nn.Parameter(torch.zeros(state))

    def forward(self, a):
        batch, length, _ = a.shape
        Q, R = torch.diag(self.log_q.exp()), torch.diag(self.log_r.exp())
        mean = self.start.expand(batch, -1)
        cov = torch.diag(self.log_start.exp()).expand(batch, -1, -1)
        eye = torch.eye(self.state).expand(batch, -1, -1)
        log_likelihood, means = 0.0, []
        for t in range(length):
            seen = mean @ self.C.T
            S = self.C @ cov @ self.C.T + R
            S = 0.5 * (S + S.transpose(-1, -2))
            log_likelihood = log_likelihood + MultivariateNormal(seen, covariance_matrix=S).log_prob(a[:, t])
            gain = torch.linalg.solve(S, self.C @ cov).transpose(-1, -2)
            mean = mean + (gain @ (a[:, t] - seen).unsqueeze(-1)).squeeze(-1)
            cov = (eye - gain @ self.C) @ cov
            means.append(mean)
            mean = mean @ self.A.T
            cov = self.A @ cov @ self.A.T + Q
            cov = 0.5 * (cov + cov.transpose(-1, -2))
        return log_likelihood, torch.stack(means, 1)
