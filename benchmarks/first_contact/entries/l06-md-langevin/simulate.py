"""Langevin dynamics of a two-species fluid under a neural potential."""
import argparse
import os
import time

import torch

from integrator import ForceField, Langevin
from neighbors import NeighborList
from observables import MeanSquareDisplacement, RadialDistribution, temperature
from potential import Potential

HERE = os.path.dirname(os.path.abspath(__file__))


def lattice(per_side, spacing, jitter, generator):
    axis = torch.arange(per_side, dtype=torch.float32) * spacing
    grid = torch.stack(torch.meshgrid(axis, axis, axis, indexing="ij"), -1).reshape(-1, 3)
    return grid + jitter * torch.randn(grid.shape, generator=generator), per_side * spacing


def save_frame(handle, step, pos, species):
    handle.write(f"{len(pos)}\nstep {step}\n")
    for s, (x, y, z) in zip(species.tolist(), pos.tolist()):
        handle.write(f"{'AB'[s]} {x:.4f} {y:.4f} {z:.4f}\n")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--per-side", type=int, default=7)
    ap.add_argument("--spacing", type=float, default=1.1)
    ap.add_argument("--steps", type=int, default=4000)
    ap.add_argument("--dt", type=float, default=0.002)
    ap.add_argument("--temperature", type=float, default=0.8)
    ap.add_argument("--friction", type=float, default=1.0)
    ap.add_argument("--log-every", type=int, default=50)
    ap.add_argument("--frame-every", type=int, default=200)
    ap.add_argument("--checkpoint", default="")
    ap.add_argument("--seed", type=int, default=5)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    pos, box = lattice(args.per_side, args.spacing, 0.03, gen)
    n = len(pos)
    species = torch.randint(0, 2, (n,), generator=gen)
    mass = torch.where(species == 0, 1.0, 1.6)
    vel = torch.randn(n, 3, generator=gen) * (args.temperature / mass[:, None]).sqrt()

    model = Potential().eval().requires_grad_(False)
    if args.checkpoint:
        model.load_state_dict(torch.load(args.checkpoint, weights_only=True))
    field = ForceField(model, NeighborList(model.cutoff, box), species, box)
    integrator = Langevin(field, mass, args.dt, args.temperature, args.friction, gen)
    msd = MeanSquareDisplacement(pos)
    rdf = RadialDistribution(box)

    start = time.time()
    with open(os.path.join(HERE, "trajectory.xyz"), "w") as frames:
        for step in range(1, args.steps + 1):
            pos, vel, energy = integrator.step(pos, vel)
            if step % args.log_every == 0:
                rdf.update(pos)
                print(f"{step:6d} energy {energy.item() / n:9.4f} temperature {temperature(vel, mass).item():.3f} "
                      f"msd {msd(pos).item():.4f} peak {rdf.peak():.2f} "
                      f"{step / (time.time() - start):.1f} steps/s", flush=True)
            if step % args.frame_every == 0:
                save_frame(frames, step, pos % box, species)


if __name__ == "__main__":
    main()
