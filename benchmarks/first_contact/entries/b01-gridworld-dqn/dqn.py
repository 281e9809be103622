"""DQN on the key/door room (RL course, assignment 2)."""
import argparse
import random
from collections import deque, namedtuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from env import KeyDoor

Transition = namedtuple("Transition", "s a r s2 done")


class QNet(nn.Module):
    def __init__(self, n_in, n_act, hidden=256):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.v = nn.Linear(hidden, 1)
        self.a = nn.Linear(hidden, n_act)

    def forward(self, x):
        h = self.body(x)
        adv = self.a(h)
        return self.v(h) + adv - adv.mean(1, keepdim=True)


class Memory:
    def __init__(self, capacity):
        self.buf = deque(maxlen=capacity)

    def push(self, *args):
        self.buf.append(Transition(*args))

    def sample(self, n):
        batch = Transition(*zip(*random.sample(self.buf, n)))
        s = torch.tensor(batch.s, dtype=torch.float32)
        s2 = torch.tensor(batch.s2, dtype=torch.float32)
        a = torch.tensor(batch.a)
        r = torch.tensor(batch.r, dtype=torch.float32)
        done = torch.tensor(batch.done, dtype=torch.float32)
        return s, a, r, s2, done

    def __len__(self):
        return len(self.buf)


class Agent:
    def __init__(self, env, args):
        self.args = args
        self.q = QNet(env.obs_dim, 4)
        self.target = QNet(env.obs_dim, 4)
        self.target.load_state_dict(self.q.state_dict())
        self.opt = torch.optim.Adam(self.q.parameters(), lr=args.lr)
        self.mem = Memory(20000)
        self.updates = 0

    @torch.no_grad()
    def act(self, s, eps):
        if random.random() < eps:
            return random.randrange(4)
        return int(self.q(torch.from_numpy(s).unsqueeze(0)).argmax(1))

    def learn(self):
        s, a, r, s2, done = self.mem.sample(self.args.batch)
        with torch.no_grad():
            best = self.q(s2).argmax(1, keepdim=True)
            y = r + self.args.gamma * (1 - done) * self.target(s2).gather(1, best).squeeze(1)
        q = self.q(s).gather(1, a[:, None]).squeeze(1)
        loss = F.smooth_l1_loss(q, y)
        self.opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.q.parameters(), 10.0)
        self.opt.step()
        self.updates += 1
        if self.updates % self.args.sync == 0:
            self.target.load_state_dict(self.q.state_dict())
        return loss.item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=2400)
    p.add_argument("--batch", type=int, default=128)
    p.add_argument("--gamma", type=float, default=0.97)
    p.add_argument("--lr", type=float, default=5e-4)
    p.add_argument("--sync", type=int, default=250)
    p.add_argument("--warmup", type=int, default=300)
    args = p.parse_args()
    random.seed(0)
    torch.manual_seed(0)

    env = KeyDoor(seed=0)
    agent = Agent(env, args)
    returns, total = deque(maxlen=20), 0.0
    s = env.reset()
    loss = float("nan")
    for t in range(args.steps):
        eps = max(0.05, 1 - t / (0.6 * args.steps))
        a = agent.act(s, eps)
        s2, r, done = env.step(a)
        agent.mem.push(s, a, r, s2, done)
        total += r
        s = s2
        if done:
            returns.append(total)
            total, s = 0.0, env.reset()
        if t >= args.warmup:
            loss = agent.learn()
        if t % 200 == 0:
            print(f"{t:6d} eps {eps:.2f} loss {loss:.4f} return {np.mean(returns) if returns else 0:.3f}")


if __name__ == "__main__":
    main()
