"""Grow a moss cushion from one cell with a neural cellular automaton."""
import argparse
import time

import numpy as np
import torch
import torch.nn.functional as F

from automaton import Automaton
from pool import SamplePool, circle_mask, make_seed


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--target", default="target.npy")
    p.add_argument("--epochs", type=int, default=28)
    p.add_argument("--steps-per-epoch", type=int, default=24)
    p.add_argument("--batch-size", type=int, default=4)
    p.add_argument("--channels", type=int, default=12)
    p.add_argument("--hidden", type=int, default=64)
    p.add_argument("--pool-size", type=int, default=128)
    p.add_argument("--min-steps", type=int, default=10)
    p.add_argument("--max-steps", type=int, default=14)
    p.add_argument("--damage", type=int, default=1)
    p.add_argument("--eval-trials", type=int, default=6)
    p.add_argument("--eval-steps", type=int, default=24)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


def pattern_loss(x, target):
    return F.mse_loss(x[:, :4], target.expand_as(x[:, :4]), reduction="none").mean(dim=(1, 2, 3))


@torch.no_grad()
def regrow(model, target, trials, steps, seed):
    """Grow from the seed, cut a hole, let it heal; loss before and after healing."""
    model.eval()
    rng = np.random.default_rng(seed)
    size = target.shape[-1]
    grown, healed = [], []
    for _ in range(trials):
        x = make_seed(size, model.channels)
        x = model(x, steps)
        grown.append(pattern_loss(x, target).item())
        x = x * circle_mask(size, rng)
        x = model(x, steps)
        healed.append(pattern_loss(x, target).item())
    model.train()
    return float(np.mean(grown)), float(np.mean(healed))


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)

    target = torch.from_numpy(np.load(args.target))[None]
    size = target.shape[-1]
    model = Automaton(args.channels, args.hidden)
    pool = SamplePool(size, args.channels, args.pool_size, seed=args.seed)
    seed_state = make_seed(size, args.channels)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=8, gamma=0.5)
    best = float("inf")

    for epoch in range(args.epochs):
        start = time.time()
        running = 0.0
        for it in range(args.steps_per_epoch):
            idx, x = pool.draw(args.batch_size)
            with torch.no_grad():
                order = pattern_loss(x, target).argsort(descending=True)
            idx, x = idx[order], x[order]
            x[0] = seed_state[0]
            if epoch > 0:
                for k in range(1, args.damage + 1):
                    x[-k] = x[-k] * circle_mask(size, rng)

            n = int(rng.integers(args.min_steps, args.max_steps + 1))
            x = model(x, n)
            loss = pattern_loss(x, target).mean()

            optimizer.zero_grad()
            loss.backward()
            for p in model.parameters():
                p.grad /= p.grad.norm() + 1e-8
            optimizer.step()

            pool.put(idx, x.detach())
            running += loss.item()
            if (it + 1) % 12 == 0:
                print(f"  epoch {epoch} step {it + 1:3d} loss {running / (it + 1):.5f}")
        scheduler.step()

        grown, healed = regrow(model, target, args.eval_trials, args.eval_steps, args.seed)
        print(f"epoch {epoch:2d} train {running / args.steps_per_epoch:.5f} grown {grown:.5f} "
              f"healed {healed:.5f} ({time.time() - start:.1f}s)")
        if healed < best:
            best = healed
            torch.save(model.state_dict(), "best.pt")


if __name__ == "__main__":
    main()
