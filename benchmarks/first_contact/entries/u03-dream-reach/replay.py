import torch


class EpisodeStore:
    """Whole episodes of equal length, the oldest replaced first."""

    def __init__(self, capacity, length, pixels, actions):
        self.pictures = torch.zeros(capacity, length, pixels)
        self.actions = torch.zeros(capacity, length, actions)
        self.rewards = torch.zeros(capacity, length)
        self.capacity, self.filled, self.head = capacity, 0, 0

    def add(self, pictures, actions, rewards):
        rows = (self.head + torch.arange(len(pictures))) % self.capacity
        self.pictures[rows] = pictures
        self.actions[rows] = actions
        self.rewards[rows] = rewards
        self.head = (self.head + len(pictures)) % self.capacity
        self.filled = min(self.capacity, self.filled + len(pictures))

    def sample(self, batch, length):
        rows = torch.randint(0, self.filled, (batch, 1))
        start = torch.randint(0, self.pictures.size(1) - length + 1, (batch, 1))
        columns = start + torch.arange(length)
        return self.pictures[rows, columns], self.actions[rows, columns], self.rewards[rows, columns]
