"""PPO, written after the 37 implementation details post, for the foraging project."""
import argparse
import time

import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical

from envs import Foraging


def layer(i, o, gain=np.sqrt(2)):
    l = nn.Linear(i, o)
    nn.init.orthogonal_(l.weight, gain)
    nn.init.zeros_(l.bias)
    return l


class ActorCritic(nn.Module):
    def __init__(self, obs_dim, n_act, h=64):
        super().__init__()
        self.pi = nn.Sequential(layer(obs_dim, h), nn.Tanh(), layer(h, h), nn.Tanh(), layer(h, n_act, 0.01))
        self.vf = nn.Sequential(layer(obs_dim, h), nn.Tanh(), layer(h, h), nn.Tanh(), layer(h, 1, 1.0))

    def forward(self, obs, act=None):
        dist = Categorical(logits=self.pi(obs), validate_args=False)
        if act is None:
            act = dist.sample()
        return act, dist.log_prob(act), dist.entropy(), self.vf(obs).squeeze(-1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--n-envs", type=int, default=8)
    ap.add_argument("--rollout", type=int, default=64)
    ap.add_argument("--iterations", type=int, default=200)
    ap.add_argument("--epochs", type=int, default=4)
    ap.add_argument("--minibatches", type=int, default=4)
    ap.add_argument("--gamma", type=float, default=0.99)
    ap.add_argument("--lam", type=float, default=0.95)
    ap.add_argument("--clip", type=float, default=0.2)
    a = ap.parse_args()
    torch.manual_seed(0)

    envs = [Foraging(seed=i) for i in range(a.n_envs)]
    obs = np.stack([e.reset() for e in envs])
    D = obs.shape[1]
    net = ActorCritic(D, len(Foraging.ACTIONS))
    opt = torch.optim.Adam(net.parameters(), lr=3e-4, eps=1e-5)
    T, N = a.rollout, a.n_envs
    b_obs, b_act = torch.zeros(T, N, D), torch.zeros(T, N, dtype=torch.long)
    b_logp, b_rew, b_done, b_val = (torch.zeros(T, N) for _ in range(4))
    eaten, t0 = [], time.time()

    for it in range(a.iterations):
        for t in range(T):
            o = torch.from_numpy(obs)
            with torch.no_grad():
                act, logp, _, val = net(o)
            b_obs[t], b_act[t], b_logp[t], b_val[t] = o, act, logp, val
            nxt, rews, dones = [], [], []
            for e, u in zip(envs, act.tolist()):
                ob, r, d, info = e.step(u)
                if d:
                    eaten.append(info["eaten"])
                    ob = e.reset()
                nxt.append(ob), rews.append(r), dones.append(d)
            obs = np.stack(nxt)
            b_rew[t] = torch.tensor(rews)
            b_done[t] = torch.tensor(dones, dtype=torch.float32)

        with torch.no_grad():
            last = net.vf(torch.from_numpy(obs)).squeeze(-1)
            adv, run = torch.zeros(T, N), torch.zeros(N)
            for t in reversed(range(T)):
                nv = last if t == T - 1 else b_val[t + 1]
                live = 1 - b_done[t]
                delta = b_rew[t] + a.gamma * nv * live - b_val[t]
                run = delta + a.gamma * a.lam * live * run
                adv[t] = run
            ret = (adv + b_val).view(-1)

        flat_o, flat_a, flat_l, flat_adv = b_obs.view(-1, D), b_act.view(-1), b_logp.view(-1), adv.view(-1)
        for _ in range(a.epochs):
            for mb in torch.randperm(T * N).chunk(a.minibatches):
                _, logp, ent, v = net(flat_o[mb], flat_a[mb])
                ratio = (logp - flat_l[mb]).exp()
                ad = (flat_adv[mb] - flat_adv[mb].mean()) / (flat_adv[mb].std() + 1e-8)
                pg = -torch.min(ratio * ad, ratio.clamp(1 - a.clip, 1 + a.clip) * ad).mean()
                loss = pg + 0.5 * (v - ret[mb]).pow(2).mean() - 0.01 * ent.mean()
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(net.parameters(), 0.5)
                opt.step()
        if it % 10 == 0:
            print(f"iter {it:3d} loss {loss.item():.3f} eaten {np.mean(eaten[-20:]) if eaten else 0:.2f} sps {(it + 1) * T * N / (time.time() - t0):.0f}")
    torch.save(net.state_dict(), "ppo_foraging.pt")


if __name__ == "__main__":
    main()
