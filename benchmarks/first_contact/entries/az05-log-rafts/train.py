"""PPO for steering log rafts; rafts drift side by side, one network for rudder and oars, one for the value."""
import argparse
import math
import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from river import Rafts


@dataclass
class Settings:
    rafts: int = 128
    horizon: int = 64
    iterations: int = 600
    epochs: int = 4
    minibatch: int = 2048
    hidden: int = 256
    gamma: float = 0.99
    lam: float = 0.95
    clip: float = 0.2
    lr: float = 4e-4
    entropy: float = 1e-3
    seed: int = 3


def settings():
    p = argparse.ArgumentParser()
    for name, value in vars(Settings()).items():
        p.add_argument(f"--{name}", type=type(value), default=value)
    return Settings(**vars(p.parse_args()))


def mlp(inp, hidden, out, gain):
    net = nn.Sequential(nn.Linear(inp, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, out))
    for m in net:
        if isinstance(m, nn.Linear):
            nn.init.orthogonal_(m.weight, gain if m is net[-1] else math.sqrt(2))
            nn.init.zeros_(m.bias)
    return net


class Helmsman(nn.Module):
    def __init__(self, obs, act, hidden):
        super().__init__()
        self.policy = mlp(obs, hidden, act, 0.01)
        self.value = mlp(obs, hidden, 1, 1.0)
        self.log_std = nn.Parameter(torch.full((act,), -0.5))


LOG_2PI = math.log(2 * math.pi)


def log_prob(z, log_std):
    return -0.5 * z.square().sum(-1) - log_std.sum() - 0.5 * z.shape[-1] * LOG_2PI


class Rollout:
    def __init__(self, cfg, env):
        t, n = cfg.horizon, cfg.rafts
        self.obs = torch.zeros(t + 1, n, env.observation)
        self.act = torch.zeros(t, n, env.action)
        self.logp = torch.zeros(t, n)
        self.reward = torch.zeros(t, n)
        self.dead = torch.zeros(t, n)
        self.over = torch.zeros(t, n)

    @torch.inference_mode()
    def fill(self, env, net):
        """Acts with the policy alone; values of the whole stretch follow in one pass."""
        std = net.log_std.exp()
        noise = torch.randn_like(self.act)
        reward, dead, over = self.reward.numpy(), self.dead.numpy(), self.over.numpy()
        for t in range(len(self.act)):
            torch.addcmul(net.policy(self.obs[t]), std, noise[t], out=self.act[t])
            obs, reward[t], dead[t], over[t] = env.step(self.act[t].numpy())
            self.obs[t + 1] = torch.from_numpy(obs)
        self.logp.copy_(log_prob(noise, net.log_std))

    @torch.inference_mode()
    def advantages(self, net, gamma, lam):
        value = net.value(self.obs).squeeze(-1)
        ahead = value[1:] * (1 - self.over)
        delta = (self.reward + gamma * ahead - value[:-1])
        keep = (gamma * lam) * (1 - self.over)
        adv = torch.empty_like(delta)
        last = torch.zeros(delta.shape[1])
        for t in range(len(delta) - 1, -1, -1):
            last = torch.addcmul(delta[t], keep[t], last, out=adv[t])
        return adv, adv + value[:-1]


def improve(cfg, net, opt, data):
    obs, act, logp, adv, ret = data
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    total = torch.zeros(2)
    count = 0
    for _ in range(cfg.epochs):
        for rows in torch.randperm(len(obs)).split(cfg.minibatch):
            o, a, lp, ad = obs[rows], act[rows], logp[rows], adv[rows]
            z = (a - net.policy(o)) * torch.exp(-net.log_std)
            ratio = (log_prob(z, net.log_std) - lp).exp()
            gain = torch.minimum(ratio * ad, ratio.clamp(1 - cfg.clip, 1 + cfg.clip) * ad).mean()
            miss = (net.value(o).squeeze(-1) - ret[rows]).square().mean()
            loss = 0.5 * miss - gain - cfg.entropy * net.log_std.sum()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            opt.step()
            total += torch.stack((gain.detach(), miss.detach()))
            count += 1
    return (total / count).tolist()


def main():
    cfg = settings()
    torch.manual_seed(cfg.seed)
    env = Rafts(cfg.rafts, cfg.seed)
    net = Helmsman(env.observation, env.action, cfg.hidden)
    opt = torch.optim.Adam(net.parameters(), lr=cfg.lr, eps=1e-5, fused=True)
    roll = Rollout(cfg, env)
    roll.obs[-1] = torch.from_numpy(env.look())
    began = time.time()
    for i in range(cfg.iterations):
        roll.obs[0] = roll.obs[-1]
        roll.fill(env, net)
        adv, ret = roll.advantages(net, cfg.gamma, cfg.lam)
        data = [x.flatten(0, 1) for x in (roll.obs[:-1], roll.act, roll.logp, adv, ret)]
        gain, miss = improve(cfg, net, opt, data)
        if i % 10 == 0:
            speed = (i + 1) * cfg.rafts * cfg.horizon / (time.time() - began)
            print(f"{i:4d}  reward {roll.reward.mean():.3f}  aground {roll.dead.mean():.4f}  gain {gain:.4f}  value loss {miss:.3f}  {speed:.0f} steps/s", flush=True)
        if (i + 1) % 200 == 0:
            torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "iteration": i}, "helmsman.pt")


if __name__ == "__main__":
    main()
