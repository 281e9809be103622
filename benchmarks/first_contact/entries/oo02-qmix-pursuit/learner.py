import copy

import torch
from torch import nn


class QLearner:
    def __init__(self, agent, mixer, n_agents, lr=5e-4, gamma=0.98, clip=10.0, target_every=50):
        self.agent, self.mixer = agent, mixer
        self.target_agent, self.target_mixer = copy.deepcopy(agent), copy.deepcopy(mixer)
        self.params = list(agent.parameters()) + list(mixer.parameters())
        self.optimizer = torch.optim.Adam(self.params, lr=lr)
        self.n_agents, self.gamma, self.clip, self.target_every = n_agents, gamma, clip, target_every
        self.updates = 0

    def unroll(self, agent, obs):
        b, t, n, _ = obs.shape
        ids = torch.eye(n).expand(b, t, n, n)
        inputs = torch.cat([obs, ids], dim=-1)
        h = agent.init_hidden(b * n)
        outputs = []
        for step in range(t):
            q, h = agent(inputs[:, step].reshape(b * n, -1), h)
            outputs.append(q.view(b, n, -1))
        return torch.stack(outputs, dim=1)

    def train(self, batch):
        q_all = self.unroll(self.agent, batch["obs"])
        q_taken = q_all[:, :-1].gather(3, batch["actions"].unsqueeze(3)).squeeze(3)

        target_q = self.unroll(self.target_agent, batch["obs"])[:, 1:]
        best = q_all[:, 1:].detach().masked_fill(batch["avail"][:, 1:] == 0, -1e9).argmax(dim=3, keepdim=True)
        target_q = target_q.gather(3, best).squeeze(3)

        total = self.mixer(q_taken, batch["state"][:, :-1])
        target_total = self.target_mixer(target_q, batch["state"][:, 1:])
        targets = batch["reward"] + self.gamma * (1 - batch["terminated"]) * target_total

        mask = batch["filled"]
        error = (total - targets.detach()) * mask
        loss = error.pow(2).sum() / mask.sum()

        self.optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.params, self.clip)
        self.optimizer.step()

        self.updates += 1
        if self.updates % self.target_every == 0:
            self.target_agent.load_state_dict(self.agent.state_dict())
            self.target_mixer.load_state_dict(self.mixer.state_dict())
        return {"loss": loss.item(), "norm": norm.item(), "td": (error.abs().sum() / mask.sum()).item()}
