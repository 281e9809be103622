import argparse

import numpy as np
import torch
import torch.nn as nn
from torch.distributions import MultivariateNormal


class ReachEnv:
    """Vectorised n-joint arm that has to reach random joint angles."""

    def __init__(self, n_envs, joints, seed=0):
        self.n, self.j, self.rng = n_envs, joints, np.random.default_rng(seed)
        self.reset()

    def reset(self):
        self.q = self.rng.uniform(-1, 1, (self.n, self.j))
        self.v = np.zeros_like(self.q)
        self.goal = self.rng.uniform(-1, 1, (self.n, self.j))
        self.t = 0
        return self.obs()

    def obs(self):
        return np.concatenate([self.q, self.v, self.goal - self.q], 1).astype(np.float32)

    def step(self, a):
        self.v = 0.9 * self.v + 0.1 * np.clip(a, -1, 1)
        self.q = np.clip(self.q + 0.1 * self.v, -2, 2)
        self.t += 1
        rew = -np.abs(self.goal - self.q).mean(1)
        return self.obs(), rew.astype(np.float32), self.t % 50 == 0


class ActorCritic(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden=96, std=0.5):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(),
                                   nn.Linear(hidden, act_dim))
        self.critic = nn.Sequential(nn.Linear(obs_dim, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(),
                                    nn.Linear(hidden, 1))
        self.log_std = nn.Parameter(torch.full((act_dim,), float(np.log(std))))

    def dist(self, obs):
        mean = self.actor(obs)
        var = (2 * self.log_std).exp().expand_as(mean)
        return MultivariateNormal(mean, torch.diag_embed(var))

    @torch.no_grad()
    def act(self, obs):
        d = self.dist(obs)
        a = d.sample()
        return a, d.log_prob(a), self.critic(obs).squeeze(-1)

    def evaluate(self, obs, act):
        d = self.dist(obs)
        return d.log_prob(act), d.entropy(), self.critic(obs).squeeze(-1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--iters", type=int, default=8)
    ap.add_argument("--envs", type=int, default=32)
    ap.add_argument("--horizon", type=int, default=32)
    ap.add_argument("--joints", type=int, default=12)
    ap.add_argument("--epochs", type=int, default=5)
    ap.add_argument("--minibatch", type=int, default=256)
    a = ap.parse_args()
    torch.manual_seed(0)
    env = ReachEnv(a.envs, a.joints)
    net = ActorCritic(3 * a.joints, a.joints)
    opt = torch.optim.Adam(net.parameters(), lr=3e-4, eps=1e-5)
    obs = torch.from_numpy(env.reset())
    for it in range(a.iters):
        buf = []
        for _ in range(a.horizon):
            act, logp, val = net.act(obs)
            nxt, rew, done = env.step(act.numpy())
            buf.append((obs, act, logp, val, torch.from_numpy(rew), float(done)))
            obs = torch.from_numpy(env.reset() if done else nxt)
        adv, last, nextv = [], torch.zeros(a.envs), net.act(obs)[2]
        for o, ac, lp, v, r, d in reversed(buf):
            delta = r + 0.99 * nextv * (1 - d) - v
            last = delta + 0.99 * 0.95 * (1 - d) * last
            adv.append(last)
            nextv = v
        adv = torch.cat(adv[::-1])
        O, A, LP, V, R = (torch.cat([b[k] for b in buf]) for k in range(5))
        ret = adv + V
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        for _ in range(a.epochs):
            for ix in torch.randperm(len(O)).split(a.minibatch):
                logp, ent, val = net.evaluate(O[ix], A[ix])
                ratio = (logp - LP[ix]).exp()
                pg = -torch.min(ratio * adv[ix], ratio.clamp(0.8, 1.2) * adv[ix]).mean()
                loss = pg + 0.5 * (val - ret[ix]).pow(2).mean() - 0.001 * ent.mean()
                opt.zero_grad()
                loss.backward()
                total = 0.0
                for p in net.parameters():
                    total += p.grad.norm(2).item() ** 2
                coef = min(1.0, 0.5 / (total ** 0.5 + 1e-6))
                for p in net.parameters():
                    p.grad.mul_(coef)
                opt.step()
        print(f"iter {it} reward {R.mean().item():.3f} loss {loss.item():.3f} grad {total ** 0.5:.3f}")


if __name__ == "__main__":
    main()
