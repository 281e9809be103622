"""Where shall the crane put the next container? Learns with a duelling double DQN on 64 yards at a time."""
import argparse
import time

import numpy as np
import torch

from agent import Agent
from yard import YardBatch


def get_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--arrivals", default="arrivals.npz")
    parser.add_argument("--iterations", type=int, default=1600)
    parser.add_argument("--yards", type=int, default=64)
    parser.add_argument("--warmup", type=int, default=60)
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--replay", type=int, default=100_000)
    parser.add_argument("--gamma", type=float, default=0.97)
    parser.add_argument("--lr", type=float, default=4e-4)
    parser.add_argument("--tau", type=float, default=0.01)
    parser.add_argument("--clip", type=float, default=10.0)
    parser.add_argument("--epsilon", type=float, nargs=2, default=(1.0, 0.05))
    parser.add_argument("--log-every", type=int, default=100)
    parser.add_argument("--test-every", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def evaluate(agent, arrivals, steps=120):
    """Reshuffles for each departing box with the greedy policy."""
    yards = YardBatch(arrivals, 32, seed=123)
    state = yards.reset()
    costs, departures = 0.0, 0
    for _ in range(steps):
        state, reward, _ = yards.step(agent.act(state, yards.allowed()))
        gone = reward != 0
        costs += (0.3 - reward[gone]).sum()
        departures += gone.sum()
    return costs / max(departures, 1)


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    logs = np.load(args.arrivals)
    yards = YardBatch(logs["train"], args.yards, seed=args.seed)
    agent = Agent(yards.stacks, yards.height, args)
    test_arrivals = logs["test"]
    first, last = args.epsilon

    state = yards.reset()
    losses, rewards = [], []
    best = float("inf")
    began = time.time()
    for iteration in range(1, args.iterations + 1):
        epsilon = max(last, first + (last - first) * iteration / (0.6 * args.iterations))
        action = agent.act(state, yards.allowed(), epsilon)
        next_state, reward, done = yards.step(action)
        agent.replay.add(state, action, reward, next_state, yards.allowed(), done)
        state = next_state
        rewards.append(reward.mean())

        if iteration <= args.warmup:
            continue
        loss, norm = agent.update()
        losses.append(loss)

        if iteration % args.log_every == 0:
            print(f"iteration {iteration:5d} epsilon {epsilon:.2f} loss {np.mean(losses):.4f} norm {norm:.2f} "
                  f"reward {np.mean(rewards):+.4f} {(time.time() - began) / iteration * 1e3:.1f} ms each", flush=True)
            losses.clear()
            rewards.clear()
        if iteration % args.test_every == 0:
            cost = evaluate(agent, test_arrivals)
            print(f"iteration {iteration:5d} reshuffles per departure {cost:.3f}", flush=True)
            if cost < best:
                best = cost
                torch.save(agent.net.state_dict(), "crane.pt")
    print(f"best: {best:.3f} reshuffles per departure")


if __name__ == "__main__":
    main()
