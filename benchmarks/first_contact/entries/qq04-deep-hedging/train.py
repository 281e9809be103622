import argparse
import json
import os
import time

import torch

from hedger import OCE, Policy, hedge, market_state
from market import Heston, variance_swap


def parse_args():
    p = argparse.ArgumentParser(description="Deep hedging of a call under Heston with trading costs")
    p.add_argument("--paths", type=int, default=2048)
    p.add_argument("--steps", type=int, default=400)
    p.add_argument("--dates", type=int, default=30)
    p.add_argument("--hidden", type=int, default=128)
    p.add_argument("--strike", type=float, default=1.0)
    p.add_argument("--cost", type=float, nargs=2, default=[5e-4, 1e-2])
    p.add_argument("--cvar", type=float, default=0.9)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--eval-every", type=int, default=100)
    p.add_argument("--eval-paths", type=int, default=8192)
    p.add_argument("--log-every", type=int, default=25)
    p.add_argument("--seed", type=int, default=3)
    p.add_argument("--out", default="runs")
    return p.parse_args()


def scenario(heston, n, strike, generator):
    log_spot, variance = heston.simulate(n, generator)
    spot = log_spot.exp()
    prices = torch.stack([spot, 10 * variance_swap(variance, heston)], 2)
    payoff = (spot[-1] - strike).clamp(min=0)
    return market_state(log_spot, variance, heston, strike), prices, payoff


@torch.inference_mode()
def evaluate(policy, test, cost, level):
    state, prices, payoff = test
    loss = payoff - hedge(policy, state, prices, cost)
    worst = loss.sort().values[int(level * len(loss)):]
    return {"mean": loss.mean().item(), "std": loss.std().item(), "cvar": worst.mean().item(),
            "unhedged_std": payoff.std().item()}


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    os.makedirs(args.out, exist_ok=True)
    generator = torch.Generator().manual_seed(args.seed)
    heston = Heston(steps=args.dates)
    strike, cost = torch.tensor(args.strike), torch.tensor(args.cost)
    test = scenario(heston, args.eval_paths, strike, torch.Generator().manual_seed(args.seed + 1))

    policy, risk = Policy(3, hidden=args.hidden), OCE(args.cvar)
    params = list(policy.parameters()) + list(risk.parameters())
    optimizer = torch.optim.Adam(params, lr=args.lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)

    history = []
    for step in range(1, args.steps + 1):
        state, prices, payoff = scenario(heston, args.paths, strike, generator)
        loss = risk(payoff - hedge(policy, state, prices, cost))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(params, 1.0)
        optimizer.step()
        schedule.step()
        if step % args.log_every == 0:
            print(f"step {step} oce {loss.item():.6f} threshold {risk.threshold.item():.6f}", flush=True)
        if step % args.eval_every == 0:
            result = {"step": step, **evaluate(policy, test, cost, args.cvar)}
            history.append(result)
            print("  " + " ".join(f"{k} {v:.6g}" for k, v in result.items()), flush=True)
            torch.save({"policy": policy.state_dict(), "risk": risk.state_dict()},
                       os.path.join(args.out, "hedger.pt"))
    with open(os.path.join(args.out, "history.json"), "w") as f:
        json.dump(history, f, indent=1)


if __name__ == "__main__":
    t = time.time()
    main()
    print(f"{time.time() - t:.1f} s")
