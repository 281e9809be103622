"""Draws event logs of cash machines in the layout of ERPP-RMTPP's data/train_day.csv and test_day.csv: machine, time in days, one of 7 kinds of event."""
import os

import numpy as np

TRAIN, TEST = (1085, 392000), (469, 120000)


def write(path, machines, rows, rng, first):
    weights = rng.lognormal(0.0, 0.9, machines)
    counts = np.maximum(12, (rows * weights / weights.sum()).astype(int))
    move = rng.dirichlet(np.full(7, 0.35), 7) * 0.7 + 0.3 * np.array([0.09, 0.12, 0.1, 0.18, 0.42, 0.05, 0.04])
    move = np.cumsum(move / move.sum(1, keepdims=True), 1)
    with open(path, 'w') as f:
        f.write('id,time,event\n')
        for m, count in enumerate(counts):
            burst = rng.random(count) < 0.6
            gaps = np.where(burst, rng.exponential(0.004, count), rng.exponential(9.0, count))
            times = 16344.0 + np.cumsum(gaps)
            event = int(rng.integers(7))
            draws = rng.random(count)
            for t, u in zip(times.tolist(), draws.tolist()):
                f.write(f'g{first + m},{t!r},{event}\n')
                event = min(6, int(np.searchsorted(move[event], u)))


def main():
    rng = np.random.default_rng(1548)
    os.makedirs('data', exist_ok=True)
    write('data/train_day.csv', *TRAIN, rng, 1000)
    write('data/test_day.csv', *TEST, rng, 3000)


if __name__ == '__main__':
    main()
