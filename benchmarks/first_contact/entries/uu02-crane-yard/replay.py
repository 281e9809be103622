"""Transitions of all yards in tensors of fixed size."""
import torch


class Replay:
    def __init__(self, size, width, stacks, seed=0):
        self.size = size
        self.state = torch.zeros(size, width, dtype=torch.int8)
        self.next_state = torch.zeros(size, width, dtype=torch.int8)
        self.next_allowed = torch.zeros(size, stacks, dtype=torch.bool)
        self.action = torch.zeros(size, dtype=torch.int64)
        self.reward = torch.zeros(size)
        self.done = torch.zeros(size)
        self.head, self.filled = 0, 0
        self.generator = torch.Generator().manual_seed(seed)

    def add(self, state, action, reward, next_state, next_allowed, done):
        count = len(state)
        where = torch.arange(self.head, self.head + count) % self.size
        self.state[where] = torch.from_numpy(state)
        self.next_state[where] = torch.from_numpy(next_state)
        self.next_allowed[where] = torch.from_numpy(next_allowed)
        self.action[where] = torch.from_numpy(action)
        self.reward[where] = torch.from_numpy(reward)
        self.done[where] = torch.from_numpy(done).float()
        self.head = (self.head + count) % self.size
        self.filled = min(self.filled + count, self.size)

    def sample(self, count):
        where = torch.randint(0, self.filled, (count,), generator=self.generator)
        return (self.state[where], self.action[where], self.reward[where],
                self.next_state[where], self.next_allowed[where], self.done[where])
