"""Fit the drift filter to windows of buoy reports."""
import argparse
import csv
import logging
from pathlib import Path

import torch
from torch.utils.data import DataLoader

from kalman import DriftFilter
from store import CONTROLS, OBSERVED, BuoyWindows

log = logging.getLogger("drift")


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--database", type=Path, default=Path(__file__).parent / "buoys.db")
    p.add_argument("--steps", type=int, default=480)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--length", type=int, default=24, help="hours in a window")
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--eval-every", type=int, default=120)
    p.add_argument("--log-every", type=int, default=20)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", type=Path, default=Path("runs"))
    return p.parse_args()


@torch.inference_mode()
def evaluate(model, loader):
    """Likelihood and forecast error, the first hours left out."""
    model.eval()
    energies, errors = [], []
    for observed, controls in loader:
        energy, forecast = model(observed, controls)
        energies.append(energy)
        errors.append((forecast - observed)[:, 6:].square().mean((1, 2)))
    model.train()
    return torch.cat(energies).mean().item(), torch.cat(errors).mean().sqrt().item()


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.manual_seed(args.seed)
    args.out.mkdir(exist_ok=True)
    train = BuoyWindows(args.database, range(0, 180), args.length, stride=3)
    test = BuoyWindows(args.database, range(180, 200), args.length, stride=24)
    loader = DataLoader(train, args.batch_size, shuffle=True, drop_last=True)
    test_loader = DataLoader(test, 128)
    model = DriftFilter(len(OBSERVED), len(CONTROLS))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, fused=True)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.995)
    table = csv.writer(open(args.out / "scores.csv", "w", newline=""))
    table.writerow(["step", "nll", "rmse"])

    step = 0
    while step < args.steps:
        for observed, controls in loader:
            step += 1
            energy, _ = model(observed, controls)
            loss = energy.mean()
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            if step % args.log_every == 0:
                schedule.step()
                log.info("step %d loss %.4f", step, loss.item())
            if step % args.eval_every == 0:
                nll, rmse = evaluate(model, test_loader)
                table.writerow([step, f"{nll:.4f}", f"{rmse:.4f}"])
                log.info("held out: likelihood %.4f, forecast error %.4f", -nll, rmse)
                torch.save(model.state_dict(), args.out / "filter.pt")
            if step == args.steps:
                break


if __name__ == "__main__":
    main()
