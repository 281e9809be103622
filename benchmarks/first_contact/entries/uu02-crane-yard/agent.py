"""Duelling double DQN."""
import copy

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from replay import Replay


class YardNet(nn.Module):
    """Every stack goes through the same layers, then all stacks are looked at together."""

    def __init__(self, stacks, height, classes=10, stack_width=64, width=512):
        super().__init__()
        self.stacks, self.height, self.classes = stacks, height, classes
        self.register_buffer("kinds", torch.arange(classes, dtype=torch.int8), persistent=False)
        self.stack = nn.Sequential(
            nn.Linear((height + 1) * classes, stack_width), nn.ReLU(),
            nn.Linear(stack_width, stack_width), nn.ReLU(),
        )
        self.body = nn.Sequential(
            nn.Linear(stacks * stack_width, width), nn.LayerNorm(width), nn.ReLU(),
            nn.Linear(width, width), nn.LayerNorm(width), nn.ReLU(),
        )
        self.value = nn.Linear(width, 1)
        self.advantage = nn.Linear(width, stacks)

    def forward(self, state):
        yards = len(state)
        grid = state[:, :-1].view(yards, self.stacks, self.height)
        box = state[:, -1].view(yards, 1, 1).expand(yards, self.stacks, 1)
        planes = (torch.cat([grid, box], 2).unsqueeze(-1) == self.kinds).float()
        x = self.stack(planes.flatten(2)).flatten(1)
        x = self.body(x)
        advantage = self.advantage(x)
        return self.value(x) + advantage - advantage.mean(1, keepdim=True)


class Agent:
    def __init__(self, stacks, height, args):
        self.args = args
        self.stacks = stacks
        self.net = YardNet(stacks, height)
        self.target = copy.deepcopy(self.net).requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=args.lr, eps=1e-5, fused=True)
        self.replay = Replay(args.replay, stacks * height + 1, stacks, args.seed)
        self.rng = np.random.default_rng(args.seed)
        self.online_parameters = list(self.net.parameters())
        self.target_parameters = list(self.target.parameters())

    @torch.no_grad()
    def act(self, state, allowed, epsilon=0.0):
        values = self.net(torch.from_numpy(state))
        values = values.masked_fill(~torch.from_numpy(allowed), -torch.inf)
        action = values.argmax(1).numpy()
        if epsilon > 0:
            explore = self.rng.random(len(state)) < epsilon
            free = self.rng.random(allowed.shape) * allowed
            action = np.where(explore, free.argmax(1), action)
        return action

    def update(self):
        state, action, reward, next_state, next_allowed, done = self.replay.sample(self.args.batch_size)
        with torch.no_grad():
            best = self.net(next_state).masked_fill(~next_allowed, -torch.inf).argmax(1, keepdim=True)
            future = self.target(next_state).gather(1, best).squeeze(1)
            goal = reward + self.args.gamma * (1 - done) * future
        chosen = self.net(state).gather(1, action.unsqueeze(1)).squeeze(1)
        loss = F.smooth_l1_loss(chosen, goal)

        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.online_parameters, self.args.clip)
        self.optimizer.step()
        torch._foreach_lerp_(self.target_parameters, self.online_parameters, self.args.tau)
        return loss.item(), norm.item()
