import argparse
import csv
import os
import time

import numpy as np
import torch

from buffer import EpisodeBuffer
from env import Pursuit
from learner import QLearner
from modules import QMixer, RNNAgent
from runner import EpisodeRunner


def get_args():
    p = argparse.ArgumentParser("QMIX on cooperative pursuit")
    p.add_argument("--episodes", type=int, default=240)
    p.add_argument("--agents", type=int, default=5)
    p.add_argument("--prey", type=int, default=4)
    p.add_argument("--limit", type=int, default=40)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--buffer", type=int, default=500)
    p.add_argument("--warmup", type=int, default=32)
    p.add_argument("--eps-start", type=float, default=1.0)
    p.add_argument("--eps-end", type=float, default=0.05)
    p.add_argument("--eps-episodes", type=int, default=200)
    p.add_argument("--test-every", type=int, default=50)
    p.add_argument("--test-episodes", type=int, default=5)
    p.add_argument("--out", default="results")
    p.add_argument("--seed", type=int, default=3)
    return p.parse_args()


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    os.makedirs(args.out, exist_ok=True)
    env = Pursuit(args.agents, args.prey, limit=args.limit, seed=args.seed)
    test_env = Pursuit(args.agents, args.prey, limit=args.limit, seed=args.seed + 1)
    agent = RNNAgent(env.obs_dim + args.agents, env.n_actions)
    mixer = QMixer(args.agents, env.state_dim)
    learner = QLearner(agent, mixer, args.agents)
    buffer = EpisodeBuffer(args.buffer, env, args.seed)
    runner = EpisodeRunner(env, agent, args.seed)
    tester = EpisodeRunner(test_env, agent, args.seed)

    table = open(os.path.join(args.out, "progress.csv"), "w", newline="")
    writer = csv.writer(table)
    writer.writerow(["episode", "epsilon", "return", "length", "loss", "td", "norm"])
    returns, lengths, start = [], [], time.time()
    for number in range(1, args.episodes + 1):
        part = min(1.0, number / args.eps_episodes)
        epsilon = args.eps_start + part * (args.eps_end - args.eps_start)
        episode = runner.run(epsilon)
        buffer.add(episode)
        returns.append(float(np.sum(episode["reward"])))
        lengths.append(len(episode["reward"]))
        if buffer.size < args.warmup:
            continue
        stats = learner.train(buffer.sample(args.batch_size))
        writer.writerow([number, epsilon, returns[-1], lengths[-1], stats["loss"], stats["td"], stats["norm"]])
        if number % 20 == 0:
            print(f"episode {number} eps {epsilon:.2f} return {np.mean(returns[-20:]):.3f} length {np.mean(lengths[-20:]):.1f} "
                  f"loss {stats['loss']:.4f} td {stats['td']:.4f} [{time.time() - start:.0f}s]", flush=True)
        if number % args.test_every == 0:
            test = [float(np.sum(tester.run(0.0)["reward"])) for _ in range(args.test_episodes)]
            print(f"test {number}: return {np.mean(test):.3f}", flush=True)
            torch.save({"agent": agent.state_dict(), "mixer": mixer.state_dict(), "episode": number}, os.path.join(args.out, "model.pt"))
    table.close()


if __name__ == "__main__":
    main()
