"""Double dueling DQN with n-step returns for the ferry."""
import random
from collections import deque, namedtuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from harbour import Berth

SEED = 17
STEPS = 2600
WARMUP = 6000
BATCH = 256
GAMMA = 0.985
N_STEP = 10
TAU = 0.005
LR = 3e-4

Transition = namedtuple("Transition", "state action reward next_state done")


class ReplayMemory:
    def __init__(self, capacity, n_step, gamma):
        self.memory = deque(maxlen=capacity)
        self.n_step, self.gamma = n_step, gamma

    def push(self, *entry):
        self.memory.append(Transition(*entry))

    def n_step_transition(self, start):
        first = self.memory[start]
        total, discount = 0.0, 1.0
        for offset in range(self.n_step):
            current = self.memory[start + offset]
            total += discount * current.reward
            discount *= self.gamma
            if current.done:
                break
        return first.state, first.action, total, current.next_state, discount * (not current.done)

    def sample(self, batch_size):
        starts = random.sample(range(len(self.memory) - self.n_step), batch_size)
        batch = [self.n_step_transition(start) for start in starts]
        states, actions, returns, next_states, discounts = zip(*batch)
        return (
            torch.from_numpy(np.stack(states)),
            torch.tensor(actions),
            torch.tensor(returns, dtype=torch.float32),
            torch.from_numpy(np.stack(next_states)),
            torch.tensor(discounts, dtype=torch.float32),
        )


class Dueling(nn.Module):
    def __init__(self, inputs, commands, width=320):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.LayerNorm(width), nn.ReLU())
        self.value = nn.Sequential(nn.Linear(width, 128), nn.ReLU(), nn.Linear(128, 1))
        self.gain = nn.Sequential(nn.Linear(width, 128), nn.ReLU(), nn.Linear(128, commands))

    def forward(self, x):
        x = self.trunk(x)
        gain = self.gain(x)
        return self.value(x) + gain - gain.mean(1, keepdim=True)


def act(network, state, epsilon):
    if random.random() < epsilon:
        return random.randrange(len(Berth.COMMANDS))
    with torch.no_grad():
        return network(torch.from_numpy(state).unsqueeze(0)).argmax(1).item()


def td_loss(online, target, batch):
    states, actions, returns, next_states, discounts = batch
    with torch.no_grad():
        best = online(next_states).argmax(1, keepdim=True)
        goal = returns + discounts * target(next_states).gather(1, best).squeeze(1)
    chosen = online(states).gather(1, actions.unsqueeze(1)).squeeze(1)
    return F.smooth_l1_loss(chosen, goal)


def greedy_return(network, seed, episodes=3):
    total = 0.0
    for number in range(episodes):
        berth = Berth(seed + number)
        state, done = berth.observe(), False
        while not done:
            state, reward, done = berth.step(act(network, state, 0.0))
            total += reward
    return total / episodes


random.seed(SEED)
torch.manual_seed(SEED)
berth = Berth(SEED)
memory = ReplayMemory(50_000, N_STEP, GAMMA)
online = Dueling(Berth.size, len(Berth.COMMANDS))
target = Dueling(Berth.size, len(Berth.COMMANDS))
target.load_state_dict(online.state_dict())
target.requires_grad_(False)
optimizer = torch.optim.Adam(online.parameters(), lr=LR, fused=True)

state = berth.reset()
step, recent = 0, deque(maxlen=100)
while step < STEPS:
    warming = len(memory.memory) < WARMUP
    epsilon = 1.0 if warming else max(0.05, 1.0 - step / 1500)
    command = act(online, state, epsilon)
    next_state, reward, done = berth.step(command)
    memory.push(state, command, reward, next_state, done)
    state = berth.reset() if done else next_state
    if warming:
        continue

    loss = td_loss(online, target, memory.sample(BATCH))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(online.parameters(), 10.0)
    optimizer.step()
    with torch.no_grad():
        torch._foreach_lerp_(list(target.parameters()), list(online.parameters()), TAU)
    recent.append(loss.item())
    step += 1
    if step % 200 == 0:
        print(f"step {step:5d}  loss {np.mean(recent):.4f}  greedy {greedy_return(online, 900):7.2f}", flush=True)

torch.save(online.state_dict(), "ferry.pt")
