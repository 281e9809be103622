import numpy as np
import torch


class PrioritizedReplay:
    """Proportional prioritized replay (Schaul et al., 2015) in preallocated arrays."""

    def __init__(self, capacity, n_observations, alpha=0.6, beta=0.4, beta_steps=20000, seed=0):
        self.capacity, self.alpha = capacity, alpha
        self.beta, self.beta_gain = beta, (1.0 - beta) / beta_steps
        self.states = np.zeros((capacity, n_observations), np.float32)
        self.next_states = np.zeros((capacity, n_observations), np.float32)
        self.actions = np.zeros(capacity, np.int64)
        self.rewards = np.zeros(capacity, np.float32)
        self.dones = np.zeros(capacity, np.float32)
        self.priorities = np.zeros(capacity, np.float64)
        self.cursor = self.size = 0
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return self.size

    def push(self, state, action, reward, next_state, done):
        i = self.cursor
        self.states[i], self.next_states[i] = state, next_state
        self.actions[i], self.rewards[i], self.dones[i] = action, reward, done
        self.priorities[i] = self.priorities[:self.size].max() if self.size else 1.0
        self.cursor = (i + 1) % self.capacity
        self.size = min(self.size + 1, self.capacity)

    def sample(self, batch_size):
        scaled = self.priorities[:self.size] ** self.alpha
        probabilities = scaled / scaled.sum()
        index = self.rng.choice(self.size, batch_size, p=probabilities)
        self.beta = min(1.0, self.beta + self.beta_gain)
        weights = (self.size * probabilities[index]) ** -self.beta
        weights = (weights / weights.max()).astype(np.float32)
        batch = (self.states[index], self.actions[index], self.rewards[index],
                 self.next_states[index], self.dones[index], weights)
        return index, tuple(torch.from_numpy(a) for a in batch)

    def update(self, index, errors):
        for i, error in zip(index, errors):
            self.priorities[i] = abs(error.item()) + 1e-3
