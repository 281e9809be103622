import argparse
import copy
import time

import torch

from field import VelocityField, integrate
from orbits import FAMILIES, Standard, main_belt


class Average:
    """Exponential moving average of the weights."""

    def __init__(self, model, decay):
        self.model = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay = decay
        self.mine, self.theirs = list(self.model.parameters()), list(model.parameters())

    @torch.no_grad()
    def update(self):
        torch._foreach_lerp_(self.mine, self.theirs, 1 - self.decay)


class Trainer:
    def __init__(self, args):
        self.args = args
        torch.manual_seed(args.seed)
        self.draws = torch.Generator().manual_seed(args.seed + 1)
        rows, self.family = main_belt(args.bodies, self.draws)
        self.standard = Standard(rows)
        self.orbits = self.standard.encode(rows)
        self.family += 1
        self.check = main_belt(2000, torch.Generator().manual_seed(9))
        self.field = VelocityField(rows.shape[1], FAMILIES, args.width, args.depth)
        self.average = Average(self.field, args.ema)
        self.optimizer = torch.optim.Adam(self.field.parameters(), lr=args.lr, betas=(0.9, 0.99), fused=True)

    def batches(self):
        order = torch.randperm(len(self.orbits), generator=self.draws)
        for rows in order[: len(order) // self.args.batch * self.args.batch].split(self.args.batch):
            yield self.orbits[rows], self.family[rows]

    def loss(self, orbits, family):
        half = torch.rand(len(orbits) // 2, generator=self.draws)
        t = torch.cat([half, 1 - half])
        noise = torch.randn(orbits.shape, generator=self.draws)
        family = family.masked_fill(torch.rand(len(family), generator=self.draws) < self.args.drop, 0)
        place = torch.lerp(noise, orbits, t[:, None])
        return (self.field(place, t, family) - (orbits - noise)).square().mean()

    def epoch(self, number):
        total = torch.zeros(())
        for k, (orbits, family) in enumerate(self.batches(), 1):
            loss = self.loss(orbits, family)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.average.update()
            total += loss.detach()
            if k % self.args.report == 0:
                print(f"[{number}] {k} {total.item() / k:.4f}", flush=True)
        return total.item() / k

    def distance(self):
        """Largest gap between the cumulative distributions, averaged over the elements."""
        rows, family = self.check
        noise = torch.randn(rows.shape, generator=torch.Generator().manual_seed(4))
        made = self.standard.decode(integrate(self.average.model, noise, family + 1, self.args.ode_steps))
        gaps = []
        for real, fake in zip(rows.t().contiguous(), made.t().contiguous()):
            cut = real.sort().values
            share = torch.searchsorted(fake.sort().values, cut, right=True) / len(fake)
            gaps.append((share - torch.arange(1, len(cut) + 1) / len(cut)).abs().max())
        return torch.stack(gaps).mean().item()

    def run(self):
        for number in range(self.args.epochs):
            began = time.perf_counter()
            loss = self.epoch(number)
            line = f"epoch {number} loss {loss:.4f}"
            if number % self.args.sample_every == self.args.sample_every - 1:
                line += f" KS {self.distance():.4f}"
                torch.save({"field": self.field.state_dict(), "average": self.average.model.state_dict()}, "orbits.pt")
            print(f"{line} ({time.perf_counter() - began:.1f}s)", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--bodies", type=int, default=60000)
    p.add_argument("--width", type=int, default=384)
    p.add_argument("--depth", type=int, default=5)
    p.add_argument("--batch", type=int, default=512)
    p.add_argument("--epochs", type=int, default=12)
    p.add_argument("--lr", type=float, default=4e-4)
    p.add_argument("--ema", type=float, default=0.995)
    p.add_argument("--drop", type=float, default=0.1)
    p.add_argument("--ode-steps", type=int, default=12)
    p.add_argument("--sample-every", type=int, default=4)
    p.add_argument("--report", type=int, default=50)
    p.add_argument("--seed", type=int, default=2)
    Trainer(p.parse_args()).run()


if __name__ == "__main__":
    main()
