"""Teach boats to tack upwind with proximal policy optimisation."""
import argparse
import ctypes
import time

import torch
import torch.nn as nn

from agent import Rollout, Skipper
from bay import Bay

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--boats", type=int, default=128)
    p.add_argument("--horizon", type=int, default=64)
    p.add_argument("--iterations", type=int, default=60)
    p.add_argument("--passes", type=int, default=6)
    p.add_argument("--minibatch", type=int, default=1024)
    p.add_argument("--gamma", type=float, default=0.98)
    p.add_argument("--lam", type=float, default=0.95)
    p.add_argument("--clip", type=float, default=0.2)
    p.add_argument("--entropy", type=float, default=0.01)
    p.add_argument("--lr", type=float, default=5e-4)
    p.add_argument("--report-every", type=int, default=2)
    p.add_argument("--seed", type=int, default=6)
    return p.parse_args()


def keep_freed_memory():
    """Every update allocates the same sizes again, so what is freed stays with the process."""
    libc = ctypes.CDLL("libc.so.6")
    libc.mallopt(M_MMAP_MAX, 0)
    libc.mallopt(M_TRIM_THRESHOLD, 2 ** 31 - 1)


@torch.inference_mode()
def race(agent, boats, seed):
    """Share of the boats that reach the mark when the likeliest rudder is taken."""
    bay = Bay(boats, torch.Generator().manual_seed(seed))
    home = torch.zeros(boats, dtype=torch.bool)
    for _ in range(bay.limit - 1):
        _, _, there = bay.step(agent(bay.observe())[0].argmax(dim=1))
        home |= there
    return home.float().mean().item()


def update(agent, optimizer, batch, args):
    obs, action, old_log_p, advantage, returns = batch
    log_p, value = agent(obs)
    ratio = (log_p.gather(1, action[:, None])[:, 0] - old_log_p).exp()
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    gain = torch.min(ratio * advantage, ratio.clamp(1 - args.clip, 1 + args.clip) * advantage).mean()
    entropy = -(log_p.exp() * log_p).sum(dim=1).mean()
    loss = 0.5 * (value - returns).square().mean() - gain - args.entropy * entropy
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
    optimizer.step()
    return loss.detach()


def main():
    args = parse_args()
    keep_freed_memory()
    torch.manual_seed(args.seed)
    bay = Bay(args.boats, torch.Generator().manual_seed(args.seed))
    bay.scatter_ages()
    agent = Skipper(bay.observations, bay.actions)
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.lr, fused=True)
    rollout = Rollout(args.horizon, args.boats, bay.observations)
    total = args.horizon * args.boats
    began = time.time()

    for iteration in range(1, args.iterations + 1):
        last_value, arrived = rollout.collect(bay, agent)
        advantage = rollout.advantages(last_value, args.gamma, args.lam)
        fields = (rollout.obs, rollout.action, rollout.log_p, advantage, advantage + rollout.value)
        flat = [f.flatten(0, 1) for f in fields]
        loss = torch.zeros(())
        for _ in range(args.passes):
            order = torch.randperm(total)
            for batch in zip(*(f[order].split(args.minibatch) for f in flat)):
                loss += update(agent, optimizer, batch, args)
        if iteration % args.report_every == 0:
            updates = args.passes * total // args.minibatch
            print(f"iteration {iteration:3d} loss {loss.item() / updates:.3f} "
                  f"reward {rollout.reward.mean().item():.3f} arrivals {int(arrived)} "
                  f"race {race(agent, 64, seed=99):.2f} {time.time() - began:.0f}s", flush=True)

    torch.save(agent.state_dict(), "skipper.pt")


if __name__ == "__main__":
    main()
