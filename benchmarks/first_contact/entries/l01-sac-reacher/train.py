"""Soft actor-critic on a batch of reacher environments with prioritised replay."""
import argparse
import copy
import math
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from env import ReacherVec
from replay import PrioritizedReplay


def mlp(sizes):
    layers = []
    for i in range(len(sizes) - 1):
        layers.append(nn.Linear(sizes[i], sizes[i + 1]))
        if i < len(sizes) - 2:
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


class Actor(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden):
        super().__init__()
        self.net = mlp([obs_dim, hidden, hidden, 2 * act_dim])

    def forward(self, obs):
        mean, log_std = self.net(obs).chunk(2, dim=-1)
        return mean, log_std.clamp(-5, 2)

    def sample(self, obs):
        mean, log_std = self(obs)
        noise = torch.randn_like(mean)
        raw = mean + log_std.exp() * noise
        act = torch.tanh(raw)
        logp = (-0.5 * noise ** 2 - log_std - 0.5 * math.log(2 * math.pi)).sum(-1)
        logp = logp - (2 * (math.log(2) - raw - F.softplus(-2 * raw))).sum(-1)
        return act, logp


class TwinCritic(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden):
        super().__init__()
        self.q1 = mlp([obs_dim + act_dim, hidden, hidden, 1])
        self.q2 = mlp([obs_dim + act_dim, hidden, hidden, 1])

    def forward(self, obs, act):
        x = torch.cat([obs, act], -1)
        return self.q1(x).squeeze(-1), self.q2(x).squeeze(-1)


@torch.no_grad()
def evaluate(actor, num_envs, horizon, seed):
    env = ReacherVec(num_envs, horizon=horizon, seed=seed)
    obs = env.reset()
    total = np.zeros(num_envs)
    for _ in range(horizon):
        mean, _ = actor(torch.from_numpy(obs))
        obs, rew, _, _, _ = env.step(torch.tanh(mean).numpy())
        total += rew
    return total.mean()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--updates", type=int, default=6000)
    p.add_argument("--num-envs", type=int, default=16)
    p.add_argument("--hidden", type=int, default=256)
    p.add_argument("--batch-size", type=int, default=256)
    p.add_argument("--capacity", type=int, default=1_000_000)
    p.add_argument("--prefill", type=int, default=300_000)
    p.add_argument("--gamma", type=float, default=0.98)
    p.add_argument("--tau", type=float, default=0.005)
    p.add_argument("--lr", type=float, default=3e-4)
    p.add_argument("--eval-every", type=int, default=500)
    p.add_argument("--log-every", type=int, default=100)
    p.add_argument("--seed", type=int, default=1)
    args = p.parse_args()

    torch.manual_seed(args.seed)
    env = ReacherVec(args.num_envs, seed=args.seed)
    actor = Actor(env.obs_dim, env.act_dim, args.hidden)
    critic = TwinCritic(env.obs_dim, env.act_dim, args.hidden)
    target = copy.deepcopy(critic).requires_grad_(False)
    log_alpha = torch.zeros((), requires_grad=True)
    target_entropy = -float(env.act_dim)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=args.lr, fused=True)
    critic_opt = torch.optim.Adam(critic.parameters(), lr=args.lr, fused=True)
    alpha_opt = torch.optim.Adam([log_alpha], lr=args.lr)
    buffer = PrioritizedReplay(args.capacity, env.obs_dim, env.act_dim, seed=args.seed)

    obs = env.reset()
    rng = np.random.default_rng(args.seed)
    while len(buffer) < args.prefill:
        act = rng.uniform(-1, 1, (args.num_envs, env.act_dim)).astype(np.float32)
        nxt, rew, done, final_obs, _ = env.step(act)
        buffer.add(obs, act, rew, done, final_obs)
        obs = nxt

    online, targets = list(critic.parameters()), list(target.parameters())
    started = time.time()
    sums = torch.zeros(2)
    for update in range(1, args.updates + 1):
        with torch.no_grad():
            act, _ = actor.sample(torch.from_numpy(obs))
        act = act.numpy()
        nxt, rew, done, final_obs, _ = env.step(act)
        buffer.add(obs, act, rew, done, final_obs)
        obs = nxt

        idx, weights, (b_obs, b_act, b_rew, b_done, b_next) = buffer.sample(args.batch_size)
        alpha = log_alpha.detach().exp()
        with torch.no_grad():
            next_act, next_logp = actor.sample(b_next)
            t1, t2 = target(b_next, next_act)
            backup = b_rew + args.gamma * (1 - b_done) * (torch.min(t1, t2) - alpha * next_logp)
        q1, q2 = critic(b_obs, b_act)
        td1, td2 = q1 - backup, q2 - backup
        critic_loss = (weights * (td1 ** 2 + td2 ** 2)).mean()
        critic_opt.zero_grad()
        critic_loss.backward()
        critic_opt.step()
        buffer.update(idx, (0.5 * (td1.detach().abs() + td2.detach().abs())).numpy())

        critic.requires_grad_(False)
        new_act, logp = actor.sample(b_obs)
        n1, n2 = critic(b_obs, new_act)
        actor_loss = (alpha * logp - torch.min(n1, n2)).mean()
        actor_opt.zero_grad()
        actor_loss.backward()
        actor_opt.step()
        critic.requires_grad_(True)

        alpha_loss = -(log_alpha * (logp.detach() + target_entropy)).mean()
        alpha_opt.zero_grad()
        alpha_loss.backward()
        alpha_opt.step()

        with torch.no_grad():
            torch._foreach_lerp_(targets, online, args.tau)
            sums += torch.stack([critic_loss.detach(), actor_loss.detach()])
        if update % args.log_every == 0:
            c, a = (sums / args.log_every).tolist()
            sums.zero_()
            print(f"{update:6d} critic {c:.4f} actor {a:.4f} alpha {alpha.item():.3f} "
                  f"{update / (time.time() - started):.1f} it/s", flush=True)
        if update % args.eval_every == 0:
            print(f"{update:6d} eval return {evaluate(actor, 32, env.horizon, args.seed + 100):.2f}", flush=True)


if __name__ == "__main__":
    main()
