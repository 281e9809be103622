"""Writes train_samples/bach_chaconne/dataset.npz: four minutes of made-up tones at 16 kHz, mu-law, 256 classes, as audio_data.py writes it."""
import os

import numpy as np

rng = np.random.default_rng(5)
rate, seconds = 16000, 240
out = []
for _ in range(seconds * 2):
    t = np.arange(rate // 2) / rate
    x = np.zeros(len(t))
    for _ in range(3):
        f = 110 * 2 ** (rng.integers(0, 36) / 12)
        for k in range(1, 5):
            x += np.sin(2 * np.pi * f * k * t + rng.uniform(0, 6.28)) / k ** 1.5
    x *= np.exp(-2 * t) / 6
    out.append(x + rng.normal(0, .003, len(t)))
x = np.clip(np.concatenate(out), -1, 1)
mu = np.sign(x) * np.log(1 + 256 * np.abs(x)) / np.log(257)
q = np.digitize(mu, np.linspace(-1, 1, 256)) - 1
os.makedirs('train_samples/bach_chaconne', exist_ok=True)
for d in ('snapshots', 'logs'):
    os.makedirs(d, exist_ok=True)
np.savez('train_samples/bach_chaconne/dataset.npz', q.astype(np.uint8))
