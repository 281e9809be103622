"""Write datasets/zara1/{train,val}/*.txt: made-up pedestrians in the form of the ETH and UCY files (frame, person, x, y
at 2.5 Hz, tab separated), about 1400 + 380 sequences of 16 frames with two persons or more."""
import os

import numpy as np

rng = np.random.default_rng(20261127)
here = os.path.dirname(os.path.abspath(__file__))


def scene(path, frames, rate):
    rows, ped = [], 0
    for start in range(-30, frames):
        for _ in range(rng.poisson(rate)):
            group = 1 if rng.random() < 0.6 else int(rng.integers(2, 4))
            side = rng.random() < 0.5
            x0, y0 = (0.0 if side else 15.0), rng.uniform(1, 12)
            speed = rng.uniform(0.35, 0.6) * (1 if side else -1)
            drift, bend, life = rng.normal(0, 0.05), rng.normal(0, 0.012), int(rng.integers(18, 40))
            for g in range(group):
                ped += 1
                t = np.arange(life)
                x = x0 + speed * t + rng.normal(0, 0.02, life).cumsum()
                y = y0 + 0.7 * g + drift * t + bend * t ** 2 / 2 + rng.normal(0, 0.02, life).cumsum()
                for k in range(life):
                    if 0 <= start + k < frames:
                        rows.append((10 * (start + k), ped, x[k], y[k]))
    rows.sort(key=lambda r: (r[0], r[1]))
    with open(path, 'w') as f:
        for a, b, x, y in rows:
            f.write('%.1f\t%.1f\t%.2f\t%.2f\n' % (a, b, x, y))


for split, names, frames in (('train', ('biwi_eth', 'biwi_hotel', 'crowds_zara02', 'students001', 'students003'), 300),
                             ('val', ('biwi_hotel_val', 'crowds_zara02_val', 'students003_val'), 145)):
    out = os.path.join(here, 'datasets', 'zara1', split)
    os.makedirs(out, exist_ok=True)
    for n, name in enumerate(names):
        scene(os.path.join(out, name + '.txt'), frames, (0.12, 0.15, 0.22, 0.4, 0.35)[n])
