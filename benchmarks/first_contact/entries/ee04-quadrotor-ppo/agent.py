import math

import torch
import torch.nn as nn


def mlp(inputs, hidden, outputs, gain):
    layers = [nn.Linear(inputs, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, outputs)]
    for layer in layers[::2]:
        nn.init.orthogonal_(layer.weight, math.sqrt(2))
        nn.init.zeros_(layer.bias)
    nn.init.orthogonal_(layers[-1].weight, gain)
    return nn.Sequential(*layers)


class ActorCritic(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden):
        super().__init__()
        self.actor = mlp(obs_dim, hidden, act_dim, 0.01)
        self.critic = mlp(obs_dim, hidden, 1, 1.0)
        self.log_std = nn.Parameter(torch.full((act_dim,), -0.5))

    def log_prob(self, mean, action):
        z = (action - mean) * torch.exp(-self.log_std)
        return (-0.5 * z.square() - self.log_std - 0.5 * math.log(2 * math.pi)).sum(-1)

    @torch.no_grad()
    def act(self, obs, deterministic=False):
        mean = self.actor(obs)
        if deterministic:
            return mean
        action = mean + torch.exp(self.log_std) * torch.randn_like(mean)
        return action, self.log_prob(mean, action), self.critic(obs).squeeze(-1)

    def evaluate(self, obs, action):
        entropy = (self.log_std + 0.5 + 0.5 * math.log(2 * math.pi)).sum()
        return self.log_prob(self.actor(obs), action), self.critic(obs).squeeze(-1), entropy


class RunningNorm:
    """Running mean and variance of observations (Welford over batches)."""

    def __init__(self, size):
        self.mean, self.var, self.count = torch.zeros(size), torch.ones(size), 1e-4

    def update(self, batch):
        mean, var, count = batch.mean(0), batch.var(0, unbiased=False), batch.size(0)
        delta, total = mean - self.mean, self.count + count
        self.var = (self.var * self.count + var * count + delta.square() * self.count * count / total) / total
        self.mean = self.mean + delta * count / total
        self.count = total

    def __call__(self, obs):
        return ((obs - self.mean) / torch.sqrt(self.var + 1e-8)).clamp(-10, 10)


class RolloutBuffer:
    def __init__(self, steps, envs, obs_dim, act_dim):
        self.steps = steps
        self.obs = torch.zeros(steps, envs, obs_dim)
        self.actions = torch.zeros(steps, envs, act_dim)
        self.log_probs = torch.zeros(steps, envs)
        self.values = torch.zeros(steps, envs)
        self.rewards = torch.zeros(steps, envs)
        self.dones = torch.zeros(steps, envs)

    def compute_gae(self, last_value, gamma, lam):
        advantages = torch.zeros_like(self.rewards)
        running, following = torch.zeros_like(last_value), last_value
        for t in reversed(range(self.steps)):
            alive = 1.0 - self.dones[t]
            delta = self.rewards[t] + gamma * following * alive - self.values[t]
            running = delta + gamma * lam * alive * running
            advantages[t] = running
            following = self.values[t]
        return advantages, advantages + self.values

    def flatten(self, advantages, returns):
        return (self.obs.flatten(0, 1), self.actions.flatten(0, 1), self.log_probs.flatten(),
                self.values.flatten(), advantages.flatten(), returns.flatten())
