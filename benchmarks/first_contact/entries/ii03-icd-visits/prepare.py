"""Made-up admission histories: one patient per line, codes of every visit in order and the problem groups of the last one."""
import argparse
import json
from pathlib import Path

import numpy as np


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("data"))
    parser.add_argument("--patients", type=int, default=3000)
    parser.add_argument("--codes", type=int, default=2400)
    parser.add_argument("--groups", type=int, default=150)
    parser.add_argument("--seed", type=int, default=3)
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)
    args.out.mkdir(parents=True, exist_ok=True)

    group_of = rng.integers(args.groups, size=args.codes)
    members = [np.flatnonzero(group_of == g) for g in range(args.groups)]
    popularity = rng.zipf(1.6, args.groups).clip(max=40).astype(float)
    popularity /= popularity.sum()
    follows = rng.integers(args.groups, size=(args.groups, 3))
    with open(args.out / "patients.jsonl", "w") as file:
        for _ in range(args.patients):
            chronic = rng.choice(args.groups, size=rng.integers(2, 6), p=popularity)
            active = set(chronic)
            visits = []
            n = int(np.clip(rng.lognormal(3.8, 0.35), 6, 80))
            for _ in range(n):
                active = {g for g in active if g in chronic or rng.random() < 0.5}
                for g in list(active):
                    if rng.random() < 0.2:
                        active.add(int(follows[g, rng.integers(3)]))
                if rng.random() < 0.4:
                    active.add(int(rng.choice(args.groups, p=popularity)))
                codes = {int(rng.choice(members[g])) for g in active for _ in range(rng.integers(1, 3)) if len(members[g])}
                visits.append(sorted(codes))
            record = {"visits": visits[:-1], "target": sorted({int(group_of[c]) for c in visits[-1]})}
            file.write(json.dumps(record) + "\n")
    (args.out / "meta.json").write_text(json.dumps({"n_codes": args.codes, "n_groups": args.groups}))


if __name__ == "__main__":
    main()
