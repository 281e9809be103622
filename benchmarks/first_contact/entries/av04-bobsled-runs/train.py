"""Probabilistic dynamics ensemble of a bobsled, learnt while the sled goes down the track."""
import collections
import json
import random
import sys
import time

import numpy as np
import torch
from torch import nn
from torch.distributions import MultivariateNormal

from sled import SledTrack

MEMBERS = 4
HIDDEN = 256
BATCH = 96
UPDATES = 2500
WARMUP_STEPS = 6000
ENV_STEPS_PER_UPDATE = 4
LR = 8e-4
SEED = int(sys.argv[1]) if len(sys.argv) > 1 else 0

Transition = collections.namedtuple("Transition", "obs act delta reward done")


class Memory:
    def __init__(self, capacity):
        self.capacity, self.items, self.at = capacity, [], 0

    def push(self, item):
        if len(self.items) < self.capacity:
            self.items.append(item)
        else:
            self.items[self.at] = item
        self.at = (self.at + 1) % self.capacity

    def sample(self, n):
        batch = Transition(*zip(*random.sample(self.items, n)))
        obs = torch.tensor(batch.obs)
        act = torch.tensor(batch.act)
        delta = torch.tensor(batch.delta)
        return obs, act, delta


class EnsembleLinear(nn.Module):
    def __init__(self, members, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(members, i, o) / (2 * i ** 0.5))
        self.bias = nn.Parameter(torch.zeros(members, 1, o))

    def forward(self, x):
        return torch.baddbmm(self.bias, x, self.weight)


class Dynamics(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.dim = obs_dim
        n_tril = obs_dim * (obs_dim + 1) // 2
        self.trunk = nn.Sequential(
            EnsembleLinear(MEMBERS, obs_dim + act_dim, HIDDEN), nn.SiLU(),
            EnsembleLinear(MEMBERS, HIDDEN, HIDDEN), nn.SiLU(),
            EnsembleLinear(MEMBERS, HIDDEN, HIDDEN), nn.SiLU(),
        )
        self.mean = EnsembleLinear(MEMBERS, HIDDEN, obs_dim)
        self.chol = EnsembleLinear(MEMBERS, HIDDEN, n_tril)
        r, c = torch.tril_indices(obs_dim, obs_dim)
        self.register_buffer("place", r * obs_dim + c)
        self.register_buffer("shift", torch.zeros(obs_dim))
        self.register_buffer("scale", torch.ones(obs_dim))

    def forward(self, obs, act):
        x = torch.cat([(obs - self.shift) / self.scale, act], -1)
        h = self.trunk(x)
        flat = self.chol(h)
        low = flat.new_zeros(*flat.shape[:-1], self.dim * self.dim).index_copy(-1, self.place, flat)
        low = low.unflatten(-1, (self.dim, self.dim))
        diag = nn.functional.softplus(low.diagonal(dim1=-2, dim2=-1)) + 5e-2
        tril = 0.1 * low.tril(-1) + torch.diag_embed(diag)
        cov = tril @ tril.mT
        cov = 0.5 * (cov + cov.mT)
        return MultivariateNormal(self.mean(h), covariance_matrix=cov)


def explore(env, obs, memory, n, drift):
    for _ in range(n):
        drift[:] = 0.9 * drift + 0.3 * np.random.randn(env.act_dim)
        act = drift.astype(np.float32)
        nxt, reward, done = env.step(act)
        memory.push(Transition(obs, act, nxt - obs, reward, done))
        obs = env.reset() if done else nxt
    return obs


def main():
    random.seed(SEED)
    np.random.seed(SEED)
    torch.manual_seed(SEED)
    env, memory = SledTrack(SEED), Memory(50_000)
    drift = np.zeros(env.act_dim)
    obs = explore(env, env.reset(), memory, WARMUP_STEPS, drift)
    model = Dynamics(env.obs_dim, env.act_dim)
    seen = np.stack([t.obs for t in memory.items])
    model.shift.copy_(torch.from_numpy(seen.mean(0)))
    model.scale.copy_(torch.from_numpy(seen.std(0) + 1e-3))
    opt = torch.optim.AdamW(model.parameters(), lr=LR, weight_decay=1e-5, fused=True)
    recent = collections.deque(maxlen=50)
    t0 = time.time()
    for it in range(1, UPDATES + 1):
        obs = explore(env, obs, memory, ENV_STEPS_PER_UPDATE, drift)
        o, a, d = memory.sample(MEMBERS * BATCH)
        o, a, d = (v.view(MEMBERS, BATCH, -1) for v in (o, a, d))
        dist = model(o, a)
        nll = -dist.log_prob(d).mean(1)
        opt.zero_grad(set_to_none=True)
        nll.sum().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        opt.step()
        recent.append(nll.mean().item())
        if it % 50 == 0:
            print(json.dumps({"update": it, "nll": sum(recent) / len(recent), "memory": len(memory.items), "sec": round(time.time() - t0, 1)}), flush=True)
        if it % 500 == 0:
            torch.save(model.state_dict(), "dynamics.pt")


if __name__ == "__main__":
    main()
