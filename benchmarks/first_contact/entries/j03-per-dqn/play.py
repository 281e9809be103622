"""Double DQN with prioritized replay on SoftLanding."""
import argparse
import time
from collections import deque
from statistics import mean

import numpy as np
import torch

from agent import DoubleDQN, PrioritizedReplay
from world import SoftLanding


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=4000)
    p.add_argument("--warmup", type=int, default=60000, help="random steps before learning")
    p.add_argument("--capacity", type=int, default=100000)
    p.add_argument("--batch-size", type=int, default=256)
    p.add_argument("--env-steps-per-update", type=int, default=2)
    p.add_argument("--seed", type=int, default=1)
    return p.parse_args()


def main():
    args = parse()
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    env = SoftLanding(args.seed)
    agent = DoubleDQN(env.n_observations, env.n_actions)
    memory = PrioritizedReplay(args.capacity, env.n_observations, seed=args.seed)
    returns, total = deque(maxlen=50), 0.0

    def interact(state, epsilon):
        nonlocal total
        action = int(rng.integers(env.n_actions)) if rng.random() < epsilon else agent.act(state)
        following, reward, done = env.step(action)
        memory.push(state, action, reward, following, done)
        total += reward
        if done:
            returns.append(total)
            total, following = 0.0, env.reset()
        return following

    state = env.reset()
    for _ in range(args.warmup):
        state = interact(state, 1.0)

    started = time.time()
    for update in range(1, args.steps + 1):
        epsilon = max(0.05, 1.0 - update / (0.6 * args.steps))
        for _ in range(args.env_steps_per_update):
            state = interact(state, epsilon)
        index, batch = memory.sample(args.batch_size)
        memory.update(index, agent.learn(batch))
        if update % 500 == 0:
            rate = (time.time() - started) / update * 1e3
            print(f"update {update:5d}  eps {epsilon:.2f}  return {mean(returns):6.2f}  {rate:.2f} ms")


if __name__ == "__main__":
    main()
