"""PPO for a fleet of point masses that must reach a drifting target, simulated as one batch."""
import time
from types import SimpleNamespace

import torch
import torch.nn as nn
from torch.distributions import Normal

cfg = SimpleNamespace(envs=192, horizon=64, iterations=50, epochs=5, minibatches=4, gamma=0.98, lam=0.95,
                      clip=0.2, lr=7e-4, entropy=1e-3, hidden=256, max_len=120, seed=2)


class PointMassFleet:
    """Position, velocity and target on a plane; the action is a bounded thrust."""

    def __init__(self, n):
        self.n = n
        self.state = torch.zeros(n, 6)
        self.age = torch.zeros(n)
        self.reset(torch.ones(n, dtype=torch.bool))

    def reset(self, which):
        fresh = torch.cat([torch.rand(self.n, 2) * 4 - 2, torch.zeros(self.n, 2), torch.rand(self.n, 2) * 4 - 2], 1)
        self.state = torch.where(which.unsqueeze(1), fresh, self.state)
        self.age = torch.where(which, 0.0, self.age)

    def observe(self):
        return torch.cat([self.state, self.state[:, 4:] - self.state[:, :2]], 1)

    def step(self, action):
        pos, vel, goal = self.state.split(2, dim=1)
        vel = 0.95 * vel + 0.1 * action.clamp(-1, 1)
        pos = pos + 0.2 * vel
        goal = goal + 0.02 * torch.randn_like(goal)
        dist = (goal - pos).norm(dim=1)
        self.state = torch.cat([pos, vel, goal], 1)
        self.age = self.age + 1
        reached = dist < 0.15
        reward = -0.1 * dist + 5.0 * reached - 0.01 * action.square().sum(1)
        done = reached | (self.age >= cfg.max_len) | (pos.abs().amax(1) > 6)
        self.reset(done)
        return self.observe(), reward, done.float()


def mlp(out):
    return nn.Sequential(nn.Linear(8, cfg.hidden), nn.Tanh(), nn.Linear(cfg.hidden, cfg.hidden), nn.Tanh(), nn.Linear(cfg.hidden, out))


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor, self.critic = mlp(2), mlp(1)
        self.log_std = nn.Parameter(-0.5 * torch.ones(2))

    def policy(self, obs):
        return Normal(self.actor(obs), self.log_std.exp(), validate_args=False)

    def value(self, obs):
        return self.critic(obs).squeeze(-1)


@torch.inference_mode()
def collect(agent, fleet, obs):
    steps = []
    for _ in range(cfg.horizon):
        dist = agent.policy(obs)
        action = dist.sample()
        nxt, reward, done = fleet.step(action)
        steps.append((obs, action, dist.log_prob(action).sum(1), reward, done))
        obs = nxt
    b_obs, b_act, b_logp, b_rew, b_done = (torch.stack(x) for x in zip(*steps))

    values = agent.value(torch.cat([b_obs, obs.unsqueeze(0)]))
    adv, running = torch.empty_like(b_rew), torch.zeros(cfg.envs)
    delta = b_rew + cfg.gamma * values[1:] * (1 - b_done) - values[:-1]
    carry = cfg.gamma * cfg.lam * (1 - b_done)
    for t in reversed(range(cfg.horizon)):
        running = delta[t] + carry[t] * running
        adv[t] = running
    batch = (b_obs, b_act, b_logp, adv, adv + values[:-1])
    return obs, [x.flatten(0, 1) for x in batch], b_rew.sum().item() / max(1.0, b_done.sum().item())


def update(agent, opt, batch):
    size = len(batch[0])
    kl = 0.0
    for _ in range(cfg.epochs):
        for pick in torch.randperm(size).chunk(cfg.minibatches):
            obs, act, old_logp, adv, ret = (x[pick] for x in batch)
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
            dist = agent.policy(obs)
            logp = dist.log_prob(act).sum(1)
            ratio = (logp - old_logp).exp()
            surrogate = torch.min(ratio * adv, ratio.clamp(1 - cfg.clip, 1 + cfg.clip) * adv).mean()
            value_loss = (agent.value(obs) - ret).square().mean()
            loss = -surrogate + 0.5 * value_loss - cfg.entropy * agent.log_std.sum()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            opt.step()
            kl = (old_logp - logp).detach().mean().item()
    return kl, value_loss.item()


def main():
    torch.manual_seed(cfg.seed)
    agent, fleet = Agent(), PointMassFleet(cfg.envs)
    opt = torch.optim.Adam(agent.parameters(), lr=cfg.lr, eps=1e-5, fused=True)
    obs, start = fleet.observe(), time.time()
    for it in range(1, cfg.iterations + 1):
        obs, batch, per_episode = collect(agent, fleet, obs)
        for group in opt.param_groups:
            group["lr"] = cfg.lr * (1 - (it - 1) / cfg.iterations)
        kl, value_loss = update(agent, opt, batch)
        print(f"{it:3d}  reward per episode {per_episode:7.2f}  value loss {value_loss:.3f}  kl {kl:.4f}  {time.time() - start:.0f}s")


if __name__ == "__main__":
    main()
