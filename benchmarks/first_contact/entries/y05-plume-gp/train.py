"""Fit a sparse Gaussian process to concentrations measured in the ground."""
import argparse
import json
import logging
from pathlib import Path

import torch

from plume import draw
from gp import SparseGP

log = logging.getLogger("plume")


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--steps", type=int, default=800)
    p.add_argument("--batch-size", type=int, default=512)
    p.add_argument("--inducing", type=int, default=384)
    p.add_argument("--points", type=int, default=20000)
    p.add_argument("--lr", type=float, default=1e-2)
    p.add_argument("--eval-every", type=int, default=200)
    p.add_argument("--log-every", type=int, default=50)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", type=Path, default=Path("runs"))
    return p.parse_args()


@torch.inference_mode()
def evaluate(model, x, y):
    """Root mean square error and mean log density on held-out places."""
    mean, variance = model(x)
    variance = variance + model.log_noise.exp()
    density = torch.distributions.Normal(mean, variance.sqrt()).log_prob(y)
    return (mean - y).square().mean().sqrt().item(), density.mean().item()


def batches(x, y, size):
    while True:
        for rows in torch.randperm(len(y)).split(size):
            if len(rows) == size:
                yield x[rows], y[rows]


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(args.seed)
    args.out.mkdir(exist_ok=True)
    x, y = draw(args.points, 0.05, seed=1)
    test_x, test_y = draw(2000, 0.05, seed=2)
    model = SparseGP(x[torch.randperm(len(x))[:args.inducing]])
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps, eta_min=1e-3)

    history = []
    for step, (inputs, values) in enumerate(batches(x, y, args.batch_size), 1):
        loss = model.bound(inputs, values, len(y))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % args.log_every == 0:
            history.append({"step": step, "loss": loss.item()})
            log.info("step %(step)d loss %(loss).4f", history[-1])
        if step % args.eval_every == 0:
            error, density = evaluate(model, test_x, test_y)
            log.info("held out: error %.4f log density %.4f noise %.4f", error, density, (0.5 * model.log_noise).exp().item())
            torch.save(model.state_dict(), args.out / "gp.pt")
        if step == args.steps:
            break
    (args.out / "history.json").write_text(json.dumps(history))


if __name__ == "__main__":
    main()
