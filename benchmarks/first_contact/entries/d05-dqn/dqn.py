import argparse
import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class CatchGrid:
    """Catch falling blocks: a 12x12 grid, three frames stacked, actions left/stay/right."""

    def __init__(self, size=12, seed=0):
        self.size = size
        self.rng = random.Random(seed)
        self.frames = deque(maxlen=3)

    def _draw(self):
        img = np.zeros((self.size, self.size), dtype=np.float32)
        img[self.y, self.x] = 1.0
        img[-1, max(0, self.paddle - 1) : self.paddle + 2] = 0.5
        return img

    def reset(self):
        self.x, self.y, self.dx = self.rng.randrange(self.size), 0, self.rng.choice([-1, 0, 1])
        self.paddle = self.size // 2
        for _ in range(3):
            self.frames.append(self._draw())
        return np.stack(self.frames)

    def step(self, action):
        self.paddle = min(self.size - 1, max(0, self.paddle + action - 1))
        self.y += 1
        self.x = min(self.size - 1, max(0, self.x + self.dx))
        done = self.y == self.size - 1
        reward = (1.0 if abs(self.x - self.paddle) <= 1 else -1.0) if done else 0.0
        self.frames.append(self._draw())
        return np.stack(self.frames), reward, done


class ReplayMemory:
    def __init__(self, capacity):
        self.memory = deque(maxlen=capacity)

    def push(self, *transition):
        self.memory.append(transition)

    def sample(self, batch_size):
        batch = random.sample(self.memory, batch_size)
        states, actions, rewards, next_states, dones = zip(*batch)
        return (
            torch.tensor([s.tolist() for s in states]),
            torch.tensor(actions),
            torch.tensor(rewards),
            torch.tensor([s.tolist() for s in next_states]),
            torch.tensor(dones, dtype=torch.float32),
        )

    def __len__(self):
        return len(self.memory)


class QNet(nn.Module):
    def __init__(self, actions=3):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2), nn.ReLU())
        self.fc = nn.Sequential(nn.Flatten(), nn.Linear(32 * 2 * 2, 128), nn.ReLU(), nn.Linear(128, actions))

    def forward(self, x):
        return self.fc(self.conv(x))


class Agent:
    def __init__(self, args):
        self.args = args
        self.online, self.target = QNet(), QNet()
        self.target.load_state_dict(self.online.state_dict())
        self.optim = torch.optim.Adam(self.online.parameters(), lr=args.lr)
        self.memory = ReplayMemory(args.memory)
        self.updates = 0

    @torch.no_grad()
    def act(self, state, eps):
        if random.random() < eps:
            return random.randrange(3)
        return self.online(torch.from_numpy(state).unsqueeze(0)).argmax(1).item()

    def learn(self):
        s, a, r, s2, d = self.memory.sample(self.args.batch_size)
        q = self.online(s).gather(1, a.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            best = self.online(s2).argmax(1, keepdim=True)
            target = r + self.args.gamma * (1 - d) * self.target(s2).gather(1, best).squeeze(1)
        loss = F.smooth_l1_loss(q, target)
        self.optim.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(self.online.parameters(), 1.0)
        self.optim.step()
        self.updates += 1
        if self.updates % self.args.target_every == 0:
            self.target.load_state_dict(self.online.state_dict())
        return loss.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--frames", type=int, default=7000)
    parser.add_argument("--warmup", type=int, default=500)
    parser.add_argument("--learn-every", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--memory", type=int, default=5000)
    parser.add_argument("--target-every", type=int, default=100)
    parser.add_argument("--gamma", type=float, default=0.97)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()
    random.seed(0)
    torch.manual_seed(0)

    env, agent = CatchGrid(), Agent(args)
    state, scores, losses = env.reset(), deque(maxlen=100), deque(maxlen=100)
    for frame in range(1, args.frames + 1):
        eps = max(0.05, 1.0 - frame / (0.6 * args.frames))
        action = agent.act(state, eps)
        nxt, reward, done = env.step(action)
        agent.memory.push(state, action, reward, nxt, done)
        state = nxt
        if done:
            scores.append(reward)
            state = env.reset()
        if frame > args.warmup and frame % args.learn_every == 0:
            losses.append(agent.learn())
        if frame % 1000 == 0:
            print(f"frame {frame} eps {eps:.2f} score {np.mean(scores):+.2f} loss {np.mean(losses or [0]):.4f}")
    torch.save(agent.online.state_dict(), "dqn.pt")


if __name__ == "__main__":
    main()
