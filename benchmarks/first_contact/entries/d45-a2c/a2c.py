"""A2C on a batch of cart-poles, simulated together in numpy."""
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

N_ENVS, ROLLOUT, UPDATES = 16, 16, 4000
GAMMA, LAM, ENT, CLIP = 0.99, 0.95, 0.01, 0.5


class CartPoles:
    def __init__(self, n, seed):
        self.rng = np.random.default_rng(seed)
        self.s = self.rng.uniform(-0.05, 0.05, (n, 4)).astype(np.float32)
        self.t = np.zeros(n, dtype=np.int64)

    def step(self, a):
        x, v, th, w = self.s.T
        force = np.where(a == 1, 10.0, -10.0)
        c, s = np.cos(th), np.sin(th)
        tmp = (force + 0.05 * w * w * s) / 1.1
        acc = (9.8 * s - c * tmp) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
        lin = tmp - 0.05 * acc * c / 1.1
        self.s = np.stack([x + 0.02 * v, v + 0.02 * lin, th + 0.02 * w, w + 0.02 * acc], 1).astype(np.float32)
        self.t += 1
        done = (np.abs(self.s[:, 0]) > 2.4) | (np.abs(self.s[:, 2]) > 0.21) | (self.t >= 500)
        if done.any():
            self.s[done] = self.rng.uniform(-0.05, 0.05, (int(done.sum()), 4))
            self.t[done] = 0
        return self.s, done


class Agent(nn.Module):
    def __init__(self, hidden=256):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.out = nn.Linear(hidden, 3)

    def forward(self, s):
        o = self.out(self.body(s))
        return o[..., :2], o[..., 2]


def main():
    torch.set_num_threads(1)  # 16 x 256 activations: a second thread only waits
    torch.manual_seed(0)
    env, agent = CartPoles(N_ENVS, 0), Agent()
    opt = torch.optim.RMSprop(agent.parameters(), lr=7e-4, alpha=0.99, eps=1e-5)
    obs = torch.empty(ROLLOUT + 1, N_ENVS, 4)
    acts = torch.empty(ROLLOUT, N_ENVS, dtype=torch.long)
    alive = torch.empty(ROLLOUT, N_ENVS)
    state, episodes, t0 = env.s, 0, time.time()
    for update in range(1, UPDATES + 1):
        with torch.no_grad():
            for t in range(ROLLOUT):
                obs[t] = torch.from_numpy(state)
                logits, _ = agent(obs[t])
                acts[t] = (torch.rand(N_ENVS) < (logits[:, 1] - logits[:, 0]).sigmoid()).long()
                state, done = env.step(acts[t].numpy())
                alive[t] = torch.from_numpy(~done)
                episodes += int(done.sum())
            obs[ROLLOUT] = torch.from_numpy(state)

        logits, values = agent(obs)
        logits = logits[:-1]
        v = values.detach().numpy()
        m, adv = alive.numpy(), np.zeros((ROLLOUT, N_ENVS), dtype=np.float32)
        gae = np.zeros(N_ENVS, dtype=np.float32)
        for t in reversed(range(ROLLOUT)):
            gae = m[t] + GAMMA * v[t + 1] * m[t] - v[t] + GAMMA * LAM * m[t] * gae
            adv[t] = gae
        adv = torch.from_numpy(adv)
        ret = adv + values[:-1].detach()
        logp = F.log_softmax(logits, -1)
        chosen = logp.gather(-1, acts.unsqueeze(-1)).squeeze(-1)
        entropy = -(logp.exp() * logp).sum(-1).mean()
        loss = -(chosen * adv).mean() + 0.5 * F.mse_loss(values[:-1], ret) - ENT * entropy
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), CLIP)
        opt.step()
        if update % 100 == 0:
            steps = update * ROLLOUT * N_ENVS
            print(f"update {update} steps {steps} mean length {100 * ROLLOUT * N_ENVS / max(1, episodes):.0f} "
                  f"loss {loss.item():.3f} {steps / (time.time() - t0):.0f} sps")
            episodes = 0
    torch.save(agent.state_dict(), "a2c.pt")


if __name__ == "__main__":
    main()
