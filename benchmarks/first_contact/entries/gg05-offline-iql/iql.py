"""Implicit Q-learning on a logged data set of a point-mass reaching task."""
import argparse
import copy
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

GOAL_RADIUS, HORIZON = 0.15, 60


class PointReach:
    """Many point masses at once, each with a goal and two repelling obstacles."""

    obs_dim, act_dim = 10, 2

    def __init__(self, n, seed):
        self.n = n
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.pos = self.rng.uniform(-1, 1, (self.n, 2))
        self.vel = np.zeros((self.n, 2))
        self.goal = self.rng.uniform(-1, 1, (self.n, 2))
        self.obstacles = self.rng.uniform(-0.8, 0.8, (self.n, 2, 2))
        return self.observe()

    def observe(self):
        rest = (self.obstacles - self.pos[:, None]).reshape(self.n, 4)
        return np.concatenate([self.pos, self.vel, self.goal - self.pos, rest], 1).astype(np.float32)

    def step(self, action):
        away = self.pos[:, None] - self.obstacles
        push = (0.02 * away / ((away ** 2).sum(-1, keepdims=True) + 0.05)).sum(1)
        self.vel = 0.8 * self.vel + 0.08 * np.clip(action, -1, 1) + 0.1 * push
        self.pos = np.clip(self.pos + self.vel, -1.5, 1.5)
        distance = np.linalg.norm(self.goal - self.pos, axis=1)
        reward = -0.1 * distance + (distance < GOAL_RADIUS)
        return self.observe(), reward.astype(np.float32)


def collect(n, seed):
    """Transitions of a noisy controller of mixed skill."""
    env = PointReach(n, seed)
    obs = env.reset()
    skill = env.rng.uniform(0, 1, (n, 1))
    out = {key: [] for key in ("obs", "act", "rew", "next", "done")}
    for t in range(HORIZON):
        act = np.clip(skill * (2.5 * obs[:, 4:6] - 2 * obs[:, 2:4]) + 0.5 * env.rng.standard_normal((n, 2)), -1, 1)
        following, rew = env.step(act)
        done = np.full(n, t == HORIZON - 1, dtype=np.float32)
        for key, value in zip(out, (obs, act, rew, following, done)):
            out[key].append(value)
        obs = following
    return {key: torch.tensor(np.concatenate(value), dtype=torch.float32) for key, value in out.items()}


class Replay:
    def __init__(self, data):
        self.obs, self.act, self.next = data["obs"], data["act"], data["next"]
        self.rew, self.done = data["rew"], data["done"]

    def sample(self, n):
        i = torch.randint(len(self.obs), (n,))
        return self.obs[i], self.act[i], self.rew[i], self.next[i], self.done[i]


def mlp(inputs, hidden, outputs):
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                         nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


class TwinQ(nn.Module):
    def __init__(self, obs, act, hidden):
        super().__init__()
        self.q1, self.q2 = mlp(obs + act, hidden, 1), mlp(obs + act, hidden, 1)

    def both(self, obs, act):
        x = torch.cat([obs, act], 1)
        return self.q1(x).squeeze(1), self.q2(x).squeeze(1)

    def forward(self, obs, act):
        return torch.minimum(*self.both(obs, act))


class Policy(nn.Module):
    def __init__(self, obs, act, hidden):
        super().__init__()
        self.net = mlp(obs, hidden, act)
        self.log_std = nn.Parameter(torch.zeros(act))

    def forward(self, obs):
        return torch.tanh(self.net(obs))

    def log_prob(self, obs, act):
        z = (act - self(obs)) * torch.exp(-self.log_std)
        return (-0.5 * z.pow(2) - self.log_std).sum(1)


class IQL:
    def __init__(self, obs, act, args):
        self.args = args
        self.q, self.v = TwinQ(obs, act, args.hidden), mlp(obs, args.hidden, 1)
        self.policy = Policy(obs, act, args.hidden)
        self.target = copy.deepcopy(self.q).requires_grad_(False)
        self.pairs = list(self.target.parameters()), list(self.q.parameters())
        self.q_opt = torch.optim.Adam(self.q.parameters(), lr=args.lr, fused=True)
        self.v_opt = torch.optim.Adam(self.v.parameters(), lr=args.lr, fused=True)
        self.pi_opt = torch.optim.Adam(self.policy.parameters(), lr=args.lr, fused=True)

    def update(self, obs, act, rew, following, done):
        args = self.args
        with torch.no_grad():
            target_q = self.target(obs, act)
            next_v = self.v(following).squeeze(1)

        v = self.v(obs).squeeze(1)
        advantage = target_q - v
        weight = torch.where(advantage > 0, args.expectile, 1 - args.expectile)
        v_loss = (weight * advantage.pow(2)).mean()
        self.v_opt.zero_grad()
        v_loss.backward()
        self.v_opt.step()

        goal = rew + args.gamma * (1 - done) * next_v
        q1, q2 = self.q.both(obs, act)
        q_loss = F.mse_loss(q1, goal) + F.mse_loss(q2, goal)
        self.q_opt.zero_grad()
        q_loss.backward()
        self.q_opt.step()

        confidence = torch.exp(args.beta * advantage.detach()).clamp(max=100.0)
        pi_loss = -(confidence * self.policy.log_prob(obs, act)).mean()
        self.pi_opt.zero_grad()
        pi_loss.backward()
        self.pi_opt.step()

        with torch.no_grad():
            torch._foreach_lerp_(*self.pairs, args.tau)
        return {"v": v_loss.item(), "q": q_loss.item(), "pi": pi_loss.item()}


@torch.inference_mode()
def evaluate(policy, n, seed):
    env = PointReach(n, seed)
    obs, total = env.reset(), np.zeros(n)
    for _ in range(HORIZON):
        obs, rew = env.step(policy(torch.from_numpy(obs)).numpy())
        total += rew
    return total.mean()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--episodes", type=int, default=2000)
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--hidden", type=int, default=384)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--eval-every", type=int, default=250)
    parser.add_argument("--log-every", type=int, default=100)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--gamma", type=float, default=0.98)
    parser.add_argument("--tau", type=float, default=0.005)
    parser.add_argument("--expectile", type=float, default=0.8)
    parser.add_argument("--beta", type=float, default=3.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "iql.pt")
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    replay = Replay(collect(args.episodes, args.seed))
    agent = IQL(PointReach.obs_dim, PointReach.act_dim, args)
    print(f"{len(replay.obs)} transitions, behaviour return {replay.rew.sum().item() / args.episodes:.2f}")

    start = time.time()
    for step in range(1, args.steps + 1):
        losses = agent.update(*replay.sample(args.batch_size))
        if step % args.log_every == 0:
            text = " ".join(f"{name} {value:.4f}" for name, value in losses.items())
            print(f"step {step} {text} {1000 * (time.time() - start) / step:.1f} ms/step", flush=True)
        if step % args.eval_every == 0:
            print(f"step {step} return {evaluate(agent.policy, 100, 1):.2f}", flush=True)
            torch.save(agent.policy.state_dict(), args.out)


if __name__ == "__main__":
    main()
