"""Writes the arrival logs of a container terminal: for every day the departure classes of the arriving boxes."""
import numpy as np


def main():
    rng = np.random.default_rng(41)
    days, boxes = 256, 400
    mix = rng.dirichlet(np.full(9, 1.5), size=days)
    arrivals = np.stack([rng.choice(np.arange(1, 10), size=boxes, p=p) for p in mix]).astype(np.int8)
    # boxes of one ship come in runs
    for day in arrivals:
        for start in range(0, boxes, 20):
            if rng.random() < 0.5:
                day[start:start + 6] = day[start]
    np.savez("arrivals.npz", train=arrivals[:224], test=arrivals[224:])


if __name__ == "__main__":
    main()
