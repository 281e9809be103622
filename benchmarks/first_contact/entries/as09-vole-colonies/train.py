"""When to open the dykes to the foxes: recurrent Q-learning on twelve counted vole colonies, from sequences in a replay."""
import argparse

import numpy as np
import torch
import torch.nn as nn
from torch.nn.utils import parametrizations

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=2200)
parser.add_argument("--capacity", type=int, default=60000)
parser.add_argument("--length", type=int, default=6)
parser.add_argument("--batch", type=int, default=64)
parser.add_argument("--hidden", type=int, default=48)
parser.add_argument("--gamma", type=float, default=0.97)
parser.add_argument("--alpha", type=float, default=0.6)
parser.add_argument("--lr", type=float, default=5e-4)
args = parser.parse_args()

COLONIES, ACTIONS = 12, 4


class Meadows:
    """Many meadows in parallel: voles grow, spread and are eaten; only noisy burrow counts are seen."""

    def __init__(self, count, rng):
        self.rng, self.count = rng, count
        self.voles = rng.uniform(0.1, 0.6, (count, COLONIES)).astype(np.float32)
        self.foxes = np.full((count, 1), 0.2, np.float32)

    def observe(self):
        counts = self.rng.poisson(self.voles * 20).astype(np.float32) / 20
        return np.concatenate([counts, self.foxes + 0.05 * self.rng.standard_normal(self.foxes.shape).astype(np.float32)], 1)

    def step(self, action):
        effort = (action[:, None] / (ACTIONS - 1)).astype(np.float32)
        spread = 0.05 * (np.roll(self.voles, 1, 1) + np.roll(self.voles, -1, 1) - 2 * self.voles)
        growth = 0.35 * self.voles * (1 - self.voles)
        self.voles = np.clip(self.voles + growth + spread - self.voles * (0.9 * self.foxes + 0.1 * effort), 0.01, 1.5)
        self.foxes = np.clip(self.foxes * 0.85 + 0.15 * self.voles.mean(1, keepdims=True) * effort * 2, 0.02, 0.6)
        return self.observe(), (-self.voles.mean(1) - 0.15 * effort[:, 0]).astype(np.float32)


class PrioritizedReplay:
    def __init__(self, capacity, length, features, alpha):
        self.obs = np.zeros((capacity, length + 1, features), np.float32)
        self.action = np.zeros((capacity, length), np.int64)
        self.reward = np.zeros((capacity, length), np.float32)
        self.priority = np.zeros(capacity)
        self.capacity, self.alpha, self.next, self.size = capacity, alpha, 0, 0

    def add(self, obs, action, reward):
        rows = (self.next + np.arange(len(obs))) % self.capacity
        self.obs[rows], self.action[rows], self.reward[rows] = obs, action, reward
        self.priority[rows] = self.priority.max() if self.size else 1.0
        self.next = (self.next + len(obs)) % self.capacity
        self.size = min(self.capacity, self.size + len(obs))

    def sample(self, batch, beta):
        scaled = self.priority[:self.size] ** self.alpha
        probs = scaled / scaled.sum()
        rows = np.random.choice(self.size, batch, p=probs)
        weights = (self.size * probs[rows]) ** -beta
        weights = torch.from_numpy((weights / weights.max()).astype(np.float32))
        return rows, torch.from_numpy(self.obs[rows]), torch.from_numpy(self.action[rows]), torch.from_numpy(self.reward[rows]), weights

    def update(self, rows, error):
        self.priority[rows] = error + 1e-3


class RecurrentQ(nn.Module):
    """A plain recurrent net whose state matrix is kept orthogonal, so that it remembers."""

    def __init__(self, features, hidden):
        super().__init__()
        self.read = nn.Sequential(nn.Linear(features, 64), nn.ReLU(), nn.Linear(64, hidden))
        self.turn = parametrizations.orthogonal(nn.Linear(hidden, hidden, bias=False))
        self.value, self.advantage = nn.Linear(hidden, 1), nn.Linear(hidden, ACTIONS)

    def step(self, obs, state):
        return torch.tanh(self.read(obs) + self.turn(state))

    def heads(self, state):
        advantage = self.advantage(state)
        return self.value(state) + advantage - advantage.mean(-1, keepdim=True)

    def forward(self, obs):
        state = obs.new_zeros(len(obs), self.turn.in_features)
        states = []
        for t in range(obs.shape[1]):
            state = self.step(obs[:, t], state)
            states.append(state)
        return self.heads(torch.stack(states, 1))


@torch.no_grad()
def collect(meadows, net, length, epsilon, obs, state):
    seen, actions, rewards = [obs], [], []
    for _ in range(length):
        state = net.step(torch.from_numpy(obs), state)
        greedy = net.heads(state).argmax(1).numpy()
        random = np.random.randint(ACTIONS, size=len(obs))
        action = np.where(np.random.rand(len(obs)) < epsilon, random, greedy)
        obs, reward = meadows.step(action)
        seen.append(obs), actions.append(action), rewards.append(reward)
    return np.stack(seen, 1), np.stack(actions, 1), np.stack(rewards, 1), obs, state


def main():
    np.random.seed(5), torch.manual_seed(5)
    meadows = Meadows(500, np.random.default_rng(5))
    net, target = RecurrentQ(COLONIES + 1, args.hidden), RecurrentQ(COLONIES + 1, args.hidden)
    target.load_state_dict(net.state_dict())
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr, eps=1e-5)
    replay = PrioritizedReplay(args.capacity, args.length, COLONIES + 1, args.alpha)
    obs, state = meadows.observe(), torch.zeros(500, args.hidden)
    while replay.size < args.capacity:
        *sequence, obs, state = collect(meadows, net, args.length, 1.0, obs, state)
        replay.add(*sequence)
    gains = []
    for step in range(args.steps):
        if step % 10 == 0:
            epsilon = max(0.05, 1 - step / 800)
            *sequence, obs, state = collect(meadows, net, args.length, epsilon, obs, state)
            replay.add(*sequence)
            gains.append(sequence[2].mean())
        rows, seen, action, reward, weights = replay.sample(args.batch, min(1.0, 0.4 + step / args.steps))
        q = net(seen)
        with torch.no_grad():
            later = target(seen)[:, 1:].gather(2, q[:, 1:].argmax(2, keepdim=True)).squeeze(2)
        chosen = q[:, :-1].gather(2, action.unsqueeze(2)).squeeze(2)
        error = chosen - (reward + args.gamma * later)
        loss = (weights[:, None] * nn.functional.huber_loss(error, torch.zeros_like(error), reduction="none")).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 10.0)
        optimizer.step()
        replay.update(rows, error.detach().abs().mean(1).numpy())
        if step % 200 == 199:
            target.load_state_dict(net.state_dict())
            print(f"{step + 1:5d}  loss {loss.item():.5f}  reward {np.mean(gains[-20:]):.3f}  epsilon {epsilon:.2f}")
    torch.save(net.state_dict(), "voles.pt")


if __name__ == "__main__":
    main()
