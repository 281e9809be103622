"""Run once in the fetched folder: synthetic pedestrians in the ETH/UCY text format (frame, id, x, y)."""
import os
import numpy as np

rng = np.random.default_rng(5)


def scene(path, frames):
    rows, pid = [], 0
    alive = []
    for fr in range(frames):
        while len(alive) < 4 + int(3 * np.sin(fr / 40.) + 3):
            pid += 1
            alive.append([pid, rng.uniform(0, 14, 2), rng.normal(0, .35, 2), rng.integers(24, 60)])
        for p in alive:
            p[2] = .95 * p[2] + rng.normal(0, .06, 2)
            p[1] = p[1] + p[2]
            p[3] -= 1
            rows.append("%.1f\t%.1f\t%.3f\t%.3f" % (fr * 10, p[0], p[1][0], p[1][1]))
        alive = [p for p in alive if p[3] > 0]
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write("\n".join(rows) + "\n")


scene("datasets/eth/train/scene_a.txt", 300)
scene("datasets/eth/train/scene_b.txt", 300)
scene("datasets/eth/val/scene_c.txt", 160)
