import random
from collections import deque, namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F

Transition = namedtuple("Transition", "state action reward next_state done")


class QNetwork(nn.Module):
    def __init__(self, n_obs, n_act, hidden=128):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_obs, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.value = nn.Linear(hidden, 1)
        self.advantage = nn.Linear(hidden, n_act)

    def forward(self, s):
        h = self.body(s)
        a = self.advantage(h)
        return self.value(h) + a - a.mean(-1, keepdim=True)


class ReplayMemory:
    def __init__(self, capacity):
        self.buffer = deque(maxlen=capacity)

    def push(self, *args):
        self.buffer.append(Transition(*args))

    def sample(self, n):
        batch = Transition(*zip(*random.sample(self.buffer, n)))
        return (torch.tensor(batch.state, dtype=torch.float32),
                torch.tensor(batch.action),
                torch.tensor(batch.reward, dtype=torch.float32),
                torch.tensor(batch.next_state, dtype=torch.float32),
                torch.tensor(batch.done, dtype=torch.float32))

    def __len__(self):
        return len(self.buffer)


class DQNAgent:
    def __init__(self, n_obs, n_act, lr=5e-4, gamma=0.98, batch_size=128, capacity=10000, tau=0.01):
        self.q = QNetwork(n_obs, n_act)
        self.target = QNetwork(n_obs, n_act)
        self.target.load_state_dict(self.q.state_dict())
        self.optimizer = torch.optim.SGD(self.q.parameters(), lr=lr * 20, momentum=0.9)
        self.memory = ReplayMemory(capacity)
        self.gamma, self.batch_size, self.tau, self.n_act = gamma, batch_size, tau, n_act

    def act(self, state, eps):
        if random.random() < eps:
            return random.randrange(self.n_act)
        with torch.no_grad():
            return self.q(torch.from_numpy(state).unsqueeze(0)).argmax(1).item()

    def learn(self):
        s, a, r, s2, d = self.memory.sample(self.batch_size)
        with torch.no_grad():
            best = self.q(s2).argmax(1, keepdim=True)
            y = r + self.gamma * (1 - d) * self.target(s2).gather(1, best).squeeze(1)
        q = self.q(s).gather(1, a.unsqueeze(1)).squeeze(1)
        loss = F.smooth_l1_loss(q, y)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.q.parameters(), 10.0)
        self.optimizer.step()
        with torch.no_grad():
            for p, t in zip(self.q.parameters(), self.target.parameters()):
                t.lerp_(p, self.tau)
        return loss.item()
