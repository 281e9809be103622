"""Writes data/crossings.npz: simulated ferry crossings with arrival delays in minutes."""
from pathlib import Path

import numpy as np

ROWS = 200_000
CARDS = dict(route=48, vessel=90, departure_quay=31, arrival_quay=31, slot=96, weekday=7)


def main():
    rng = np.random.default_rng(20240311)
    cats = {k: rng.integers(0, n, ROWS) for k, n in CARDS.items()}
    effect = {k: rng.normal(0, 1.5, n) for k, n in CARDS.items()}
    wind = rng.gamma(2.2, 3.5, ROWS)
    gust = wind * (1 + rng.gamma(1.5, 0.15, ROWS))
    direction = rng.uniform(0, 2 * np.pi, ROWS)
    wave = 0.12 * wind + rng.gamma(1.2, 0.3, ROWS)
    tide = np.sin(rng.uniform(0, 2 * np.pi, ROWS))
    cars = rng.beta(2, 1.4, ROWS)
    feet = rng.beta(1.6, 2, ROWS)
    visibility = rng.exponential(9, ROWS).clip(0, 30)
    previous = rng.gamma(1.1, 5, ROWS) - 3
    turnround = rng.normal(25, 6, ROWS)
    day = rng.uniform(0, 2 * np.pi, ROWS)
    delay = sum(effect[k][v] for k, v in cats.items())
    delay += 0.05 * wave * gust + 3 * cars * (turnround < 22) + 0.7 * np.maximum(previous - (turnround - 20) / 2, 0)
    delay += 4 * (visibility < 1.5) - 1.2 * tide * (cats["arrival_quay"] % 3 == 0)
    delay += rng.gamma(1.5, 1.5, ROWS) * (1 + 0.04 * wind)
    nums = np.stack([wind, gust, np.sin(direction), np.cos(direction), wave, tide, cars, feet, visibility,
                     previous, turnround, np.sin(day), np.cos(day)], 1).astype(np.float32)
    out = Path("data")
    out.mkdir(exist_ok=True)
    np.savez(out / "crossings.npz", cats=np.stack(list(cats.values()), 1).astype(np.int16), nums=nums,
             delay=delay.astype(np.float32), cards=np.array(list(CARDS.values())), names=np.array(list(CARDS)))


if __name__ == "__main__":
    main()
