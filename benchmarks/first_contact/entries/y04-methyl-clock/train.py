"""Train an epigenetic clock on methylation arrays."""
import argparse
import logging
from pathlib import Path

import torch

from arrays import Cohort
from clock import Clock, age_loss, ridge

log = logging.getLogger("clock")


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--steps", type=int, default=700)
    p.add_argument("--batch-size", type=int, default=256)
    p.add_argument("--lr", type=float, default=5e-4)
    p.add_argument("--ridge", type=float, default=2e-4, help="weight of the squared weights in the loss")
    p.add_argument("--donors", type=int, default=7000)
    p.add_argument("--log-every", type=int, default=50)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", type=Path, default=Path("runs"))
    return p.parse_args()


@torch.inference_mode()
def evaluate(model, cohort):
    """Median absolute error in years, and how often the 90 % interval holds the age."""
    model.eval()
    values, sex, age = cohort.test
    mean, log_deviation = model(values, sex)
    model.train()
    error = (50 + 20 * mean - age).abs()
    inside = (error < 1.645 * 20 * log_deviation.exp()).float().mean()
    return error.median().item(), inside.item()


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.manual_seed(args.seed)
    args.out.mkdir(exist_ok=True)
    cohort = Cohort(args.donors, seed=3)
    log.info("%d probes kept", len(cohort.probes))
    model = Clock(len(cohort.probes))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, fused=True)

    step, epoch, best = 0, 0, float("inf")
    while step < args.steps:
        epoch += 1
        for values, sex, age in cohort.batches(args.batch_size):
            step += 1
            fit = age_loss(*model(values, sex), age)
            loss = fit + args.ridge * ridge(model)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % args.log_every == 0:
                log.info("step %d loss %.4f fit %.4f", step, loss.item(), fit.item())
            if step == args.steps:
                break
        error, inside = evaluate(model, cohort)
        log.info("epoch %d: median error %.2f years, %.1f %% inside the interval", epoch, error, 100 * inside)
        if error < best:
            best = error
            torch.save({"model": model.state_dict(), "probes": cohort.probes}, args.out / "clock.pt")


if __name__ == "__main__":
    main()
