import random
import sys

import numpy as np
import torch

from agent import DQNAgent
from env import Hover

torch.autograd.set_detect_anomaly(True)

FRAMES = int(sys.argv[1]) if len(sys.argv) > 1 else 8500
WARMUP = 1000


def evaluate(agent, env, episodes=2):
    returns = []
    for _ in range(episodes):
        state, total, over = env.reset(), 0.0, False
        while not over:
            state, reward, done, late = env.step(agent.act(state, 0.0))
            total += reward
            over = done or late
        returns.append(total)
    return float(np.mean(returns))


def run():
    random.seed(1)
    torch.manual_seed(1)
    env, eval_env = Hover(1), Hover(99)
    agent = DQNAgent(env.n_obs, env.n_act)
    frames, losses = 0, []
    episode, history = 0, []
    while frames < FRAMES:
        state, total, over = env.reset(), 0.0, False
        while not over:
            eps = max(0.05, 1.0 - frames / 5000)
            action = agent.act(state, eps)
            next_state, reward, done, late = env.step(action)
            agent.memory.push(state, action, reward, next_state, done)
            state, total, over = next_state, total + reward, done or late
            frames += 1
            if len(agent.memory) >= WARMUP:
                losses.append(agent.learn())
        history.append(total)
        episode += 1
        if episode % 25 == 0:
            print(f"episode {episode:4d}  frames {frames:6d}  return {np.mean(history[-25:]):8.2f}  "
                  f"eval {evaluate(agent, eval_env):8.2f}  loss {np.mean(losses[-500:] or [0]):.4f}")


if __name__ == "__main__":
    run()
