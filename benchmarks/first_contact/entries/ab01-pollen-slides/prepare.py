"""Draw microscope slides of pollen grains: twelve taxa, one archive per slide."""
import os

import numpy as np

SIZE = 48
TAXA = 12
GRAINS = 128
SLIDES = 16


def traits():
    rng = np.random.default_rng(21)
    return {
        "radius": rng.uniform(0.45, 0.8, TAXA),
        "aspect": rng.uniform(0.6, 1.0, TAXA),
        "lobes": rng.integers(2, 9, TAXA),
        "depth": rng.uniform(0.02, 0.16, TAXA),
        "rim": rng.uniform(0.05, 0.16, TAXA),
        "net": rng.uniform(4, 16, TAXA),
    }


def grains(rng, taxon, table):
    n = len(taxon)
    yy, xx = np.mgrid[-1:1:SIZE * 1j, -1:1:SIZE * 1j]
    t = {k: v[taxon][:, None, None] for k, v in table.items()}
    turn = rng.uniform(0, 2 * np.pi, (n, 1, 1))
    u = np.cos(turn) * xx + np.sin(turn) * yy
    v = (np.cos(turn) * yy - np.sin(turn) * xx) / t["aspect"]
    rho, phi = np.hypot(u, v), np.arctan2(v, u)
    edge = t["radius"] * rng.uniform(0.9, 1.1, (n, 1, 1)) * (1 + t["depth"] * np.cos(t["lobes"] * phi))
    inside = 1 / (1 + np.exp((rho - edge) / 0.03))
    rim = np.exp(-((rho - edge + t["rim"]) / t["rim"]) ** 2)
    net = 0.5 + 0.5 * np.sin(t["net"] * u) * np.sin(t["net"] * v)
    img = 0.9 - inside * (0.25 + 0.3 * rim + 0.25 * net)
    img = img + rng.normal(0, 0.06, img.shape) + rng.uniform(-0.08, 0.08, (n, 1, 1))
    return (255 * img.clip(0, 1)).astype(np.uint8)


if __name__ == "__main__":
    os.makedirs("slides", exist_ok=True)
    rng = np.random.default_rng(4)
    table = traits()
    for s in range(SLIDES):
        taxon = rng.integers(0, TAXA, GRAINS)
        np.savez(f"slides/slide_{s:02d}.npz", grains=grains(rng, taxon, table), taxon=taxon.astype(np.int64))
    print(f"wrote {SLIDES} slides of {GRAINS} grains")
