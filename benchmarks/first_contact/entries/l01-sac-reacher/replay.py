"""Proportional prioritised replay (Schaul et al. 2016) in preallocated numpy arrays."""
import numpy as np
import torch


class PrioritizedReplay:
    def __init__(self, capacity, obs_dim, act_dim, alpha=0.6, beta=0.4, beta_steps=20000, seed=0):
        self.capacity = capacity
        self.alpha = alpha
        self.beta0 = beta
        self.beta_steps = beta_steps
        self.obs = np.zeros((capacity, obs_dim), np.float32)
        self.next_obs = np.zeros((capacity, obs_dim), np.float32)
        self.act = np.zeros((capacity, act_dim), np.float32)
        self.rew = np.zeros(capacity, np.float32)
        self.done = np.zeros(capacity, np.float32)
        self.priority = np.zeros(capacity, np.float64)
        self.rng = np.random.default_rng(seed)
        self.pos = 0
        self.size = 0
        self.draws = 0
        self.max_priority = 1.0

    def __len__(self):
        return self.size

    def add(self, obs, act, rew, done, next_obs):
        n = len(obs)
        idx = (self.pos + np.arange(n)) % self.capacity
        self.obs[idx] = obs
        self.act[idx] = act
        self.rew[idx] = rew
        self.done[idx] = done
        self.next_obs[idx] = next_obs
        self.priority[idx] = self.max_priority
        self.pos = (self.pos + n) % self.capacity
        self.size = min(self.size + n, self.capacity)

    @property
    def beta(self):
        return min(1.0, self.beta0 + (1 - self.beta0) * self.draws / self.beta_steps)

    def sample(self, batch_size):
        scaled = self.priority[: self.size] ** self.alpha
        probs = scaled / scaled.sum()
        idx = self.rng.choice(self.size, size=batch_size, p=probs)
        weights = (self.size * probs[idx]) ** (-self.beta)
        weights /= weights.max()
        self.draws += 1
        batch = (self.obs[idx], self.act[idx], self.rew[idx], self.done[idx], self.next_obs[idx])
        return idx, torch.from_numpy(weights.astype(np.float32)), [torch.from_numpy(x) for x in batch]

    def update(self, idx, td_error):
        value = np.abs(td_error) + 1e-3
        self.priority[idx] = value
        self.max_priority = max(self.max_priority, float(value.max()))
