"""Stand-in for the preprocessed violin takes: one-second pieces at 16 kHz with pitch and loudness every 160 samples."""
import os
import numpy as np

rng = np.random.default_rng(5)
n, length, block = 480, 16000, 160
frames = length // block
os.makedirs("preprocessed", exist_ok=True)
note = 196 * 2 ** (rng.integers(0, 30, n) / 12)
t = np.arange(frames) / frames
pitch = note[:, None] * (1 + 0.006 * np.sin(2 * np.pi * 5.5 * t[None] + rng.uniform(0, 6, (n, 1))))
amp = np.clip(0.15 + 0.1 * np.sin(2 * np.pi * rng.uniform(0.3, 2, (n, 1)) * t[None]), 0.01, 1)
loud = np.log(amp) - 4 + 0.05 * rng.standard_normal(amp.shape)
phase = np.cumsum(2 * np.pi * np.repeat(pitch, block, 1) / 16000, 1)
x = np.zeros((n, length))
for h in range(1, 16):
    x += np.sin(h * phase) / h ** 1.3 * (np.repeat(pitch, block, 1) * h < 8000)
x = x * np.repeat(amp, block, 1) + 0.003 * rng.standard_normal(x.shape)
for name, a in (("signals", x), ("pitchs", pitch), ("loudness", loud)):
    np.save("preprocessed/%s.npy" % name, a.astype(np.float32))
