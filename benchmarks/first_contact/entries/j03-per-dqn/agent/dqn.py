import copy

import torch
from torch import nn

from .guards import finite


class Dueling(nn.Module):
    def __init__(self, n_observations, n_actions, hidden):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_observations, hidden), nn.ReLU(),
                                  nn.Linear(hidden, hidden), nn.ReLU())
        self.value = nn.Linear(hidden, 1)
        self.advantage = nn.Linear(hidden, n_actions)

    def forward(self, x):
        h = self.body(x)
        a = self.advantage(h)
        return self.value(h) + a - a.mean(-1, keepdim=True)


class DoubleDQN:
    def __init__(self, n_observations, n_actions, hidden=256, lr=5e-4, gamma=0.99, sync_every=500):
        self.online = Dueling(n_observations, n_actions, hidden)
        self.target = copy.deepcopy(self.online).requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.online.parameters(), lr=lr, fused=True)
        self.gamma, self.sync_every, self.updates = gamma, sync_every, 0

    @torch.inference_mode()
    def act(self, state):
        return int(self.online(torch.from_numpy(state)).argmax())

    @finite("online")
    def learn(self, batch):
        states, actions, rewards, next_states, dones, weights = batch
        with torch.no_grad():
            best = self.online(next_states).argmax(1, keepdim=True)
            future = self.target(next_states).gather(1, best).squeeze(1)
            wanted = rewards + self.gamma * (1 - dones) * future
        q = self.online(states).gather(1, actions.unsqueeze(1)).squeeze(1)
        errors = wanted - q
        loss = (weights * nn.functional.huber_loss(q, wanted, reduction="none")).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.updates += 1
        if self.updates % self.sync_every == 0:
            self.target.load_state_dict(self.online.state_dict())
        return errors.detach()
