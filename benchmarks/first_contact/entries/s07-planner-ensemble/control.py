"""Model-based control of cranes: learn an ensemble of the dynamics, plan through it, learn from what happened."""
import argparse
from pathlib import Path

import torch

from crane import Crane
from dynamics import EnsembleDynamics, Memory
from planner import CrossEntropyPlanner


def parse_args():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--episodes", type=int, default=12)
    p.add_argument("--episode-length", type=int, default=50)
    p.add_argument("--cranes", type=int, default=4)
    p.add_argument("--members", type=int, default=5)
    p.add_argument("--hidden", type=int, default=128)
    p.add_argument("--warmup-steps", type=int, default=40)
    p.add_argument("--fit-steps", type=int, default=120, help="optimizer steps after each episode")
    p.add_argument("--fit-rows", type=int, default=128, help="rows for each member in a step")
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--out", type=Path, default=Path("dynamics.pt"))
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


def explore(env, memory, steps, generator):
    state = env.reset()
    for _ in range(steps):
        action = 2 * torch.rand(env.count, env.action_size, generator=generator) - 1
        following, _ = env.step(action)
        memory.add(state, action, following)
        state = following


def fit(model, optimizer, memory, steps, rows, generator):
    model.fit_scales(memory.inputs[: memory.size], memory.deltas[: memory.size])
    total = torch.zeros(())
    for _ in range(steps):
        loss = model.loss(*memory.sample(model.members, rows, generator))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        total += loss.detach()
    return total.item() / (steps * model.members)


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    env = Crane(args.cranes, seed=args.seed)
    memory = Memory(args.cranes * (args.warmup_steps + args.episodes * args.episode_length), env.state_size, env.action_size)
    model = EnsembleDynamics(args.members, env.state_size, env.action_size, args.hidden)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, fused=True)
    planner = CrossEntropyPlanner(model, Crane.cost, env.action_size)

    explore(env, memory, args.warmup_steps, generator)
    for episode in range(1, args.episodes + 1):
        loss = fit(model, optimizer, memory, args.fit_steps, args.fit_rows, generator)
        state, cost = env.reset(), torch.zeros(env.count)
        planner.forget()
        for _ in range(args.episode_length):
            action = planner(state, generator)
            following, c = env.step(action)
            memory.add(state, action, following)
            cost += c
            state = following
        final = Crane.cost(state, torch.zeros(env.count, 1)).mean()
        print(f"episode {episode:2d}  fit loss {loss:.4f}  cost a step {cost.mean() / args.episode_length:.3f}  at the end {final:.3f}", flush=True)
    torch.save({"model": model.state_dict(), "transitions": memory.size}, args.out)


if __name__ == "__main__":
    main()
