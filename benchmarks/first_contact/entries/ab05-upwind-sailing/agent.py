import torch
import torch.nn as nn
import torch.nn.functional as F


class Skipper(nn.Module):
    """Policy and value on one trunk."""

    def __init__(self, observations, actions, width=512):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(observations, width),
            nn.ReLU(inplace=True),
            nn.Linear(width, width),
            nn.ReLU(inplace=True),
            nn.Linear(width, width),
            nn.ReLU(inplace=True),
        )
        self.heads = nn.Linear(width, actions + 1)
        nn.init.orthogonal_(self.heads.weight, 0.1)
        nn.init.zeros_(self.heads.bias)

    def forward(self, obs):
        out = self.heads(self.trunk(obs))
        return F.log_softmax(out[:, :-1], dim=1), out[:, -1]


class Rollout:
    """What all boats did during some steps."""

    def __init__(self, horizon, boats, observations):
        self.obs = torch.zeros(horizon, boats, observations)
        self.action = torch.zeros(horizon, boats, dtype=torch.long)
        self.log_p, self.value, self.reward, self.done = torch.zeros(4, horizon, boats)

    @torch.inference_mode()
    def collect(self, bay, agent):
        obs = bay.observe()
        arrived = torch.zeros(())
        for t in range(len(self.obs)):
            log_p, value = agent(obs)
            action = torch.multinomial(log_p.exp(), 1)
            self.obs[t] = obs
            self.action[t] = action[:, 0]
            self.log_p[t] = log_p.gather(1, action)[:, 0]
            self.value[t] = value
            self.reward[t], self.done[t], there = bay.step(action[:, 0])
            arrived += there.sum()
            obs = bay.observe()
        return agent(obs)[1], arrived

    def advantages(self, last_value, gamma, lam):
        following = torch.cat([self.value[1:], last_value[None]])
        keep = 1.0 - self.done
        delta = self.reward + gamma * keep * following - self.value
        decay = gamma * lam * keep
        out = torch.empty_like(delta)
        running = torch.zeros_like(last_value)
        for t in reversed(range(len(delta))):
            running = torch.addcmul(delta[t], decay[t], running, out=out[t])
        return out
