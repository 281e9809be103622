"""Writes a small made-up speech corpus (16 kHz) and noise recordings (48 kHz) to data/."""
import pathlib

import numpy as np
from scipy.io import wavfile
from scipy.signal import lfilter

ROOT = pathlib.Path(__file__).parent / "data"
RATE, NOISE_RATE = 16000, 48000


def utterance(rng):
    seconds = rng.uniform(2.6, 4.0)
    n = int(seconds * RATE)
    f0 = rng.uniform(90, 220) * (1 + 0.15 * np.sin(2 * np.pi * rng.uniform(0.5, 2) * np.arange(n) / RATE))
    phase = 2 * np.pi * np.cumsum(f0) / RATE
    source = sum(np.cos(k * phase) / k for k in range(1, 16)) + 0.2 * rng.standard_normal(n)
    out = np.zeros(n)
    start = 0
    while start < n:
        length = int(rng.uniform(0.08, 0.3) * RATE)
        piece = source[start:start + length]
        if rng.random() > 0.2:
            for formant in (rng.uniform(300, 800), rng.uniform(900, 2300), rng.uniform(2400, 3200)):
                r = np.exp(-np.pi * 90 / RATE)
                piece = 0.3 * piece + 0.1 * lfilter([1], [1, -2 * r * np.cos(2 * np.pi * formant / RATE), r * r], piece)
            out[start:start + length] = piece * np.hanning(len(piece))
        start += length
    return out / (np.abs(out).max() + 1e-6) * rng.uniform(0.3, 0.9)


def noise(rng, seconds=6):
    n = seconds * NOISE_RATE
    colour = rng.uniform(0.3, 0.98)
    x = lfilter([1 - colour], [1, -colour], rng.standard_normal(n))
    x *= 1 + 0.6 * np.sin(2 * np.pi * rng.uniform(0.2, 4) * np.arange(n) / NOISE_RATE)
    return x / np.abs(x).max() * 0.8


def write(path, rate, x):
    path.parent.mkdir(parents=True, exist_ok=True)
    wavfile.write(path, rate, (x * 32767).astype(np.int16))


if __name__ == "__main__":
    rng = np.random.default_rng(7)
    for i in range(480):
        write(ROOT / "clean" / "train" / f"p{i:04d}.wav", RATE, utterance(rng))
    for i in range(16):
        write(ROOT / "clean" / "valid" / f"q{i:04d}.wav", RATE, utterance(rng))
    for i in range(24):
        write(ROOT / "noise" / f"n{i:02d}.wav", NOISE_RATE, noise(rng))
