import argparse
import json
import os
import time

import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset

from mechanism import RegretNet, best_misreports, utility_gain


def parse_args():
    p = argparse.ArgumentParser(description="Optimal auctions through deep learning")
    p.add_argument("--agents", type=int, default=3)
    p.add_argument("--items", type=int, default=4)
    p.add_argument("--profiles", type=int, default=64000)
    p.add_argument("--test-profiles", type=int, default=1000)
    p.add_argument("--batch-size", type=int, default=128)
    p.add_argument("--steps", type=int, default=300)
    p.add_argument("--misreport-steps", type=int, default=25)
    p.add_argument("--misreport-lr", type=float, default=0.1)
    p.add_argument("--test-misreport-steps", type=int, default=40)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--rho", type=float, default=1.0)
    p.add_argument("--rho-step", type=float, default=1.0)
    p.add_argument("--rho-every", type=int, default=200)
    p.add_argument("--lambda-every", type=int, default=20)
    p.add_argument("--eval-every", type=int, default=150)
    p.add_argument("--log-every", type=int, default=20)
    p.add_argument("--seed", type=int, default=42)
    p.add_argument("--out", default="runs")
    return p.parse_args()


def sample_profiles(rng, n, agents, items):
    """Uniform values, items two and three of a bidder complement one another a little."""
    values = rng.uniform(size=(n, agents, items))
    values[:, :, 2] = 0.8 * values[:, :, 2] + 0.2 * values[:, :, 1]
    return torch.tensor(values, dtype=torch.float32)


def itemwise_myerson(valuations, reserve=0.5):
    top = valuations.topk(2, dim=1).values
    paid = top[:, 1].clamp(min=reserve) * (top[:, 0] > reserve)
    return paid.sum(1).mean().item()


def evaluate(model, valuations, args):
    misreports = best_misreports(model, valuations, args.test_misreport_steps, args.misreport_lr)
    with torch.no_grad():
        regret = utility_gain(model, valuations, misreports).clamp(min=0)
        allocation, payments = model(valuations)
    return {
        "revenue": payments.sum(1).mean().item(),
        "regret": regret.mean().item(),
        "regret_max": regret.max().item(),
        "allocated": allocation.sum((1, 2)).mean().item(),
    }


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    os.makedirs(args.out, exist_ok=True)

    train = sample_profiles(rng, args.profiles, args.agents, args.items)
    test = sample_profiles(rng, args.test_profiles, args.agents, args.items)
    loader = DataLoader(TensorDataset(train), args.batch_size, shuffle=True, drop_last=True)
    print(f"item-wise Myerson revenue {itemwise_myerson(test):.4f}")

    model = RegretNet(args.agents, args.items)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    multipliers = torch.ones(args.agents)
    rho = args.rho
    step, results = 0, []
    while step < args.steps:
        for (valuations,) in loader:
            misreports = best_misreports(model, valuations, args.misreport_steps, args.misreport_lr)
            regret = utility_gain(model, valuations, misreports).clamp(min=0).mean(0)
            _, payments = model(valuations)
            revenue = payments.sum(1).mean()
            loss = -revenue + (multipliers * regret).sum() + rho / 2 * (regret ** 2).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1

            if step % args.lambda_every == 0:
                multipliers = multipliers + rho * regret.detach()
            if step % args.rho_every == 0:
                rho += args.rho_step
            if step % args.log_every == 0:
                print(f"step {step:5d} loss {loss.item():.5f} revenue {revenue.item():.5f} "
                      f"regret {regret.mean().item():.5f} lambda {multipliers.mean().item():.4f}", flush=True)
            if step % args.eval_every == 0:
                result = evaluate(model, test, args)
                results.append({"step": step, **result})
                print("  test " + " ".join(f"{k} {v:.5f}" for k, v in result.items()), flush=True)
                torch.save({"model": model.state_dict(), "multipliers": multipliers},
                           os.path.join(args.out, f"regretnet_{step}.pt"))
            if step >= args.steps:
                break

    with open(os.path.join(args.out, "results.json"), "w") as f:
        json.dump(results, f, indent=1)


if __name__ == "__main__":
    t = time.time()
    main()
    print(f"{time.time() - t:.1f} s")
