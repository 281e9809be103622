import argparse
import collections
import random

import numpy as np
import torch
import torch.nn as nn

Transition = collections.namedtuple("Transition", "state action reward next_state done")


class GridWorld:
    def __init__(self, size=12, seed=0):
        self.size, self.rng = size, np.random.RandomState(seed)

    def reset(self):
        self.pos = self.rng.randint(0, self.size, 2)
        self.goal = self.rng.randint(0, self.size, 2)
        self.t = 0
        return self._obs()

    def _obs(self):
        o = np.zeros((2, self.size, self.size), dtype=np.float32)
        o[0, self.pos[0], self.pos[1]] = 1
        o[1, self.goal[0], self.goal[1]] = 1
        return o.reshape(-1)

    def step(self, a):
        d = ((-1, 0), (1, 0), (0, -1), (0, 1))[a]
        self.pos = np.clip(self.pos + d, 0, self.size - 1)
        self.t += 1
        hit = bool((self.pos == self.goal).all())
        return self._obs(), 1.0 if hit else -0.01, hit or self.t >= 60


class ReplayMemory(object):
    def __init__(self, capacity):
        self.memory = collections.deque([], maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


def qnet(n_obs, n_act, hidden):
    return nn.Sequential(nn.Linear(n_obs, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                         nn.Linear(hidden, n_act))


parser = argparse.ArgumentParser()
parser.add_argument("--frames", type=int, default=1500)
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--gamma", type=float, default=0.98)
parser.add_argument("--hidden", type=int, default=512)
args = parser.parse_args()

random.seed(0)
torch.manual_seed(0)
env = GridWorld()
policy, target = qnet(288, 4, args.hidden), qnet(288, 4, args.hidden)
target.load_state_dict(policy.state_dict())
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-4)
memory = ReplayMemory(20000)
state, ret, returns = env.reset(), 0.0, []

for frame in range(args.frames):
    eps = max(0.05, 1.0 - frame / 1000)
    if random.random() < eps:
        action = random.randrange(4)
    else:
        with torch.no_grad():
            action = policy(torch.from_numpy(state)).argmax().item()
    nxt, reward, done = env.step(action)
    memory.push(state.tolist(), action, reward, nxt.tolist(), done)
    state, ret = nxt, ret + reward
    if done:
        returns.append(ret)
        state, ret = env.reset(), 0.0

    if len(memory) < 200:
        continue
    batch = Transition(*zip(*memory.sample(args.batch_size)))
    s = torch.tensor(batch.state)
    a = torch.tensor(batch.action).unsqueeze(1)
    r = torch.tensor(batch.reward)
    s2 = torch.tensor(batch.next_state)
    d = torch.tensor(batch.done, dtype=torch.float32)
    q = policy(s).gather(1, a).squeeze(1)
    with torch.no_grad():
        tq = r + args.gamma * (1 - d) * target(s2).max(1)[0]
    loss = nn.functional.smooth_l1_loss(q, tq)
    optimizer.zero_grad()
    loss.backward()
    for p in policy.parameters():
        p.grad.data.clamp_(-1, 1)
    optimizer.step()
    if frame % 200 == 0:
        target.load_state_dict(policy.state_dict())
        print("frame %5d eps %.2f loss %.5f return %.3f" % (frame, eps, loss.item(), np.mean(returns[-20:] or [0])))
