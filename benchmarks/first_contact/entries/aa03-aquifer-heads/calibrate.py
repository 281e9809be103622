"""Calibrate the conductivity of an aquifer on heads observed during pumping tests."""
import argparse
import os

import numpy as np
import torch

from aquifer import Aquifer
from field import ConductivityField, reference_field


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--rows", type=int, default=14)
    p.add_argument("--cols", type=int, default=16)
    p.add_argument("--steps", type=int, default=1200)
    p.add_argument("--times", type=int, default=20)
    p.add_argument("--scenarios", type=int, default=48)
    p.add_argument("--batch", type=int, default=12)
    p.add_argument("--wells", type=int, default=36)
    p.add_argument("--noise", type=float, default=0.01)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--prior", type=float, default=2e-4)
    p.add_argument("--report-every", type=int, default=100)
    p.add_argument("--out", default="run")
    p.add_argument("--seed", type=int, default=5)
    return p.parse_args()


def pumping_tests(args, cells, generator):
    """Each scenario pumps three cells with rates that change twice."""
    pumping = torch.zeros(args.times, cells, args.scenarios)
    for s in range(args.scenarios):
        for cell in torch.randperm(cells, generator=generator)[:3].tolist():
            rates = 0.8 * torch.rand(3, generator=generator)
            pumping[:, cell, s] = rates.repeat_interleave(args.times // 3 + 1)[:args.times]
    phase = 6.28 * torch.rand(args.scenarios, generator=generator)
    hours = torch.arange(args.times)[:, None]
    stage = 1.0 + 0.2 * torch.sin(0.3 * hours + phase)
    return pumping, stage


class Observations:
    def __init__(self, aquifer, args, generator):
        self.pumping, self.stage = pumping_tests(args, aquifer.cells, generator)
        self.wells = torch.randperm(aquifer.cells, generator=generator)[:args.wells]
        self.truth = reference_field(args.rows, args.cols, generator)
        with torch.no_grad():
            heads = aquifer.simulate(self.truth, self.pumping, self.stage)[:, self.wells]
        self.heads = heads + args.noise * torch.randn(heads.shape, generator=generator)

    def draw(self, count, generator):
        pick = torch.randperm(self.pumping.shape[2], generator=generator)[:count]
        return self.pumping[:, :, pick], self.stage[:, pick], self.heads[:, :, pick]


def main():
    args = parse()
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    os.makedirs(args.out, exist_ok=True)

    aquifer = Aquifer(args.rows, args.cols)
    field = ConductivityField(args.rows, args.cols)
    observed = Observations(aquifer, args, generator)
    optimizer = torch.optim.Adam(field.parameters(), lr=args.lr, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)

    for step in range(1, args.steps + 1):
        pumping, stage, heads = observed.draw(args.batch, generator)
        log_k = field()
        simulated = aquifer.simulate(log_k, pumping, stage)
        misfit = (simulated[:, observed.wells] - heads).square().mean() / args.noise ** 2
        loss = misfit + args.prior / args.noise ** 2 * field.roughness(log_k)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % args.report_every == 0 or step == 1:
            error = (log_k.detach() - observed.truth).square().mean().sqrt()
            print(f"step {step} misfit {misfit.item():.4f} loss {loss.item():.4f} log-k rmse {error.item():.4f}",
                  flush=True)

    with torch.no_grad():
        np.savez(os.path.join(args.out, "field.npz"), log_k=field().numpy(), truth=observed.truth.numpy(),
                 wells=observed.wells.numpy())
    torch.save(field.state_dict(), os.path.join(args.out, "field.pt"))


if __name__ == "__main__":
    main()
