"""Draw load cases for one grid and solve them: the data for train.py."""
import argparse
from pathlib import Path

import numpy as np

from grid import admittance, make_grid, solve


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="data")
    parser.add_argument("--buses", type=int, default=60)
    parser.add_argument("--lines", type=int, default=92)
    parser.add_argument("--cases", type=int, default=4608)
    args = parser.parse_args()
    rng = np.random.default_rng(8)
    edges, r, x = make_grid(rng, args.buses, args.lines)
    ybus = admittance(args.buses, edges, r, x)
    generators = rng.choice(np.arange(1, args.buses), args.buses // 5, replace=False)
    base = rng.uniform(0.01, 0.06, args.buses)
    keep = {k: [] for k in ("p", "q", "vset", "vm", "va")}
    for first in range(0, args.cases, 128):
        count = min(128, args.cases - first)
        demand = base * rng.uniform(0.5, 1.5, (count, 1)) * rng.lognormal(0, 0.25, (count, args.buses))
        p, q = -demand, -demand * rng.uniform(0.15, 0.4, (count, args.buses))
        share = rng.dirichlet(np.ones(len(generators)) * 4, count)
        p[:, generators] += 0.9 * demand.sum(1, keepdims=True) * share
        vset = rng.uniform(0.98, 1.04, (count, len(generators)))
        vm, va, mismatch = solve(ybus, p, q, generators, vset)
        assert mismatch < 1e-6, mismatch
        full = np.ones((count, args.buses))
        full[:, generators] = vset
        for key, value in zip(keep, (p, q, full, vm, va)):
            keep[key].append(value.astype(np.float32))
    Path(args.out).mkdir(exist_ok=True)
    np.savez(Path(args.out) / "cases.npz", edges=edges, r=r.astype(np.float32), x=x.astype(np.float32),
             generators=generators, **{k: np.concatenate(v) for k, v in keep.items()})


if __name__ == "__main__":
    main()
