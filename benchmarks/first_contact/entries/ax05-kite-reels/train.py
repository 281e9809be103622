"""PPO for a fleet of power kites."""
import argparse
import logging
import os
import time

import torch
from torch.nn import functional as F

from agent import Agent, Rollout
from kite_env import KiteFleet

log = logging.getLogger("kites")


@torch.inference_mode()
def trial(agent, seed, steps=100):
    fleet = KiteFleet(64, seed)
    total, observation = torch.zeros(64), fleet.observe()
    for _ in range(steps):
        observation, reward, _ = fleet.step(agent.actor(observation))
        total += reward
    return total.mean().item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--iterations", type=int, default=400)
    p.add_argument("--kites", type=int, default=256)
    p.add_argument("--length", type=int, default=32)
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--minibatches", type=int, default=4)
    p.add_argument("--width", type=int, default=256)
    p.add_argument("--lr", type=float, default=3e-4)
    p.add_argument("--gamma", type=float, default=0.99)
    p.add_argument("--lam", type=float, default=0.95)
    p.add_argument("--clip", type=float, default=0.2)
    p.add_argument("--out", default="runs")
    args = p.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.manual_seed(3)

    fleet = KiteFleet(args.kites, seed=3)
    agent = Agent(fleet.observation, fleet.action, args.width)
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.lr, eps=1e-5, fused=True)
    rollout = Rollout(args.length, args.kites, fleet.observation, fleet.action)
    size = args.kites * args.length
    os.makedirs(args.out, exist_ok=True)
    began = time.perf_counter()
    for iteration in range(1, args.iterations + 1):
        rollout.fill(fleet, agent)
        advantage, returns = rollout.advantages(agent, args.gamma, args.lam)
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        flat = (rollout.observations[:-1].flatten(0, 1), rollout.actions.flatten(0, 1), rollout.log_probs.flatten(),
                advantage.flatten(), returns.flatten())
        for _ in range(args.epochs):
            for rows in torch.randperm(size).chunk(args.minibatches):
                observation, action, old, gain, target = (x[rows] for x in flat)
                new, value = agent.evaluate(observation, action)
                ratio = (new - old).exp()
                surrogate = torch.minimum(ratio * gain, ratio.clamp(1 - args.clip, 1 + args.clip) * gain).mean()
                loss = 0.5 * F.mse_loss(value, target) - surrogate - 1e-3 * agent.entropy()
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
        if iteration % 5 == 0:
            log.info("iteration %d reward %.6f loss %.6f (%.1f s)", iteration, rollout.rewards.mean().item(), loss.item(), time.perf_counter() - began)
        if iteration % 50 == 0:
            log.info("iteration %d trial %.4f", iteration, trial(agent, seed=1000))
            torch.save({"agent": agent.state_dict(), "optimizer": optimizer.state_dict()}, os.path.join(args.out, "agent.pt"))


if __name__ == "__main__":
    main()
