"""A2C on a batch of cart-poles, all environments stepped as one tensor."""
import argparse
import math
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class CartPoles:
    """n copies of the classic cart-pole; auto reset"""

    def __init__(self, n, generator=None):
        self.n, self.g = n, generator
        self.s = self._fresh(n)
        self.t = torch.zeros(n)

    def _fresh(self, n):
        return (torch.rand(n, 4, generator=self.g) - 0.5) * 0.1

    def step(self, a):
        x, v, th, om = self.s.unbind(1)
        force = a.float() * 20 - 10
        c, s = th.cos(), th.sin()
        tmp = (force + 0.05 * om * om * s) / 1.1
        acc = (9.8 * s - c * tmp) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
        lin = tmp - 0.05 * acc * c / 1.1
        self.s = torch.stack([x + 0.02 * v, v + 0.02 * lin, th + 0.02 * om, om + 0.02 * acc], 1)
        self.t += 1
        fail = (self.s[:, 0].abs() > 2.4) | (self.s[:, 2].abs() > 12 * math.pi / 180)
        done = fail | (self.t >= 500)
        length = self.t[done]
        if len(length):
            self.s[done] = self._fresh(len(length))
            self.t[done] = 0
        return self.s, done, length


class Policy(nn.Module):
    def __init__(self, h=128):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, h), nn.Tanh(), nn.Linear(h, h), nn.Tanh())
        self.pi, self.v = nn.Linear(h, 2), nn.Linear(h, 1)

    def forward(self, s):
        h = self.trunk(s)
        return self.pi(h), self.v(h).squeeze(-1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--envs", type=int, default=64)
    ap.add_argument("--n-steps", type=int, default=16)
    ap.add_argument("--updates", type=int, default=2600)
    ap.add_argument("--gamma", type=float, default=0.99)
    ap.add_argument("--entropy", type=float, default=0.01)
    ap.add_argument("--lr", type=float, default=1e-3)
    a = ap.parse_args()
    torch.manual_seed(0)
    env, net = CartPoles(a.envs), Policy()
    opt = torch.optim.RMSprop(net.parameters(), lr=a.lr, eps=1e-5)
    lengths, t0 = [], time.time()
    s = env.s
    for up in range(1, a.updates + 1):
        states, actions, alive = [], [], []
        with torch.no_grad():
            for _ in range(a.n_steps):
                logits, _ = net(s)
                act = (torch.rand(a.envs) < logits.softmax(1)[:, 1]).long()
                states.append(s)
                actions.append(act)
                s, done, ln = env.step(act)
                alive.append(~done)
                if len(ln):
                    lengths.extend(ln.tolist())
            R = net(s)[1]
            returns = []
            for al in reversed(alive):
                R = 1.0 + a.gamma * R * al
                returns.append(R)
            returns = torch.cat(returns[::-1]) / 50
        logits, v = net(torch.cat(states))
        logp = F.log_softmax(logits, 1)
        adv = (returns - v).detach()
        pg = -(logp.gather(1, torch.cat(actions)[:, None]).squeeze(1) * adv).mean()
        ent = -(logp.exp() * logp).sum(1).mean()
        loss = pg + 0.5 * F.mse_loss(v, returns) - a.entropy * ent
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        opt.step()
        if up % 100 == 0:
            recent = lengths[-100:]
            print(f"update {up} loss {loss.item():.3f} length {sum(recent) / max(1, len(recent)):.1f} {time.time() - t0:.1f}s")


if __name__ == "__main__":
    main()
