"""Advantage actor-critic on a batch of cart-poles simulated together."""
import math
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

ENVS, HORIZON, UPDATES = 512, 16, 900
GAMMA, LAMBDA, ENTROPY, VALUE = 0.99, 0.95, 0.01, 0.5


class CartPoles:
    """Classic cart-pole dynamics for many poles at once (numpy); finished poles start anew."""
    gravity, cart, pole, half, force, dt = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02

    def __init__(self, n, seed):
        self.rng = np.random.default_rng(seed)
        self.state = self.fresh(n)
        self.age = np.zeros(n, np.float32)

    def fresh(self, n):
        return self.rng.uniform(-0.05, 0.05, (n, 4)).astype(np.float32)

    def step(self, action):
        x, v, angle, spin = self.state.T
        push = (2 * action - 1) * self.force
        sin, cos = np.sin(angle), np.cos(angle)
        total = self.cart + self.pole
        temp = (push + self.pole * self.half * spin * spin * sin) / total
        turn = (self.gravity * sin - cos * temp) / (self.half * (4 / 3 - self.pole * cos * cos / total))
        move = temp - self.pole * self.half * turn * cos / total
        self.state = np.stack([x + self.dt * v, v + self.dt * move, angle + self.dt * spin, spin + self.dt * turn], 1)
        self.age += 1
        fallen = (np.abs(self.state[:, 0]) > 2.4) | (np.abs(self.state[:, 2]) > 12 * math.pi / 180)
        done = fallen | (self.age >= 500)
        ages = self.age[done]
        self.state[done] = self.fresh(len(ages))
        self.age[done] = 0
        return torch.from_numpy(self.state), torch.from_numpy(done), torch.from_numpy(ages)


class Policy(nn.Module):
    def __init__(self, hidden=256):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, hidden), nn.ReLU(inplace=True), nn.Linear(hidden, hidden), nn.ReLU(inplace=True))
        self.head = nn.Linear(hidden, 2)

    def forward(self, state):
        logit, value = self.head(self.body(state)).unbind(-1)
        return logit, value


def rollout(env, policy, state):
    """Play HORIZON steps; logits and values keep their graph, so that the update needs no second forward pass."""
    logits, values, actions, dones, lengths = [], [], [], [], []
    for _ in range(HORIZON):
        logit, value = policy(state)
        action = torch.bernoulli(logit.detach().sigmoid())
        state, done, ages = env.step(action.numpy())
        for kept, new in ((logits, logit), (values, value), (actions, action), (dones, done), (lengths, ages)):
            kept.append(new)
    with torch.no_grad():
        last = policy(state)[1]
    return torch.stack(logits), torch.stack(values), last, torch.stack(actions), torch.stack(dones).float(), state, torch.cat(lengths)


def advantages(dones, values, last):
    out, running = torch.empty(HORIZON, ENVS), torch.zeros(ENVS)
    alive = 1 - dones
    delta = 1.0 + GAMMA * torch.cat([values[1:], last[None]]) * alive - values
    for t in reversed(range(HORIZON)):
        running = delta[t] + GAMMA * LAMBDA * alive[t] * running
        out[t] = running
    return out


def main():
    torch.manual_seed(4)
    env, policy = CartPoles(ENVS, seed=4), Policy()
    optimizer = torch.optim.RMSprop(policy.parameters(), lr=7e-4, alpha=0.99, eps=1e-5)
    state, finished, start = torch.from_numpy(env.state), [], time.time()
    for update in range(1, UPDATES + 1):
        logit, value, last, actions, dones, state, lengths = rollout(env, policy, state)
        finished.append(lengths)
        advantage = advantages(dones, value.detach(), last)
        returns = advantage + value.detach()
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)

        nll = F.binary_cross_entropy_with_logits(logit, actions, reduction="none")
        p = logit.sigmoid()
        entropy = (F.softplus(logit) - p * logit).mean()
        loss = (nll * advantage).mean() + VALUE * F.mse_loss(value, returns) - ENTROPY * entropy
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
        optimizer.step()

        if update % 150 == 0:
            length = torch.cat(finished)
            print(f"update {update}  episodes {len(length)}  mean length {length.mean():.1f}  loss {loss.item():.3f}  {time.time() - start:.1f}s")
            finished.clear()


if __name__ == "__main__":
    main()
