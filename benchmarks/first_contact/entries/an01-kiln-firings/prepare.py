"""Writes firings.jsonl: logged stoneware firings (thermocouple tree, gas, damper) and how the load came out."""
import json

import numpy as np

rng = np.random.default_rng(5)
with open("firings.jsonl", "w") as out:
    for _ in range(1200):
        outcome = int(rng.integers(5))
        phase = np.arange(72) / 72
        soak = rng.uniform(1180, 1290) + {2: 35, 3: -45}.get(outcome, 0)
        cooling = rng.uniform(0.9, 1.2) * (1.7 if outcome in (1, 4) else 1.0)
        goal = np.where(phase < 0.7, soak * np.minimum(1, phase / 0.55), soak * np.exp(-cooling * (phase - 0.7) * 4))
        couples = goal[:, None] + rng.normal(0, 12, 9) * (1 + phase[:, None]) + rng.normal(0, 3, (72, 9))
        gas = np.clip(goal[:, None] / soak - [0.0, 0.1] + rng.normal(0, 0.02, (72, 2)), 0, None)
        rest = np.stack([rng.random(72), rng.normal(-8, 1, 72), 4 + 6 * phase + rng.normal(0, 0.5, 72)], 1)
        rows = np.concatenate([couples, gas, rest], 1).round(2).tolist()
        out.write(json.dumps({"trace": rows, "outcome": outcome}) + "\n")
