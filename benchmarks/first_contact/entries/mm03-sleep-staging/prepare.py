"""Simulates whole-night recordings (EEG and EOG at 100 Hz, 30 s epochs, five stages) as one npz per night."""
from pathlib import Path

import numpy as np

RATE, SECONDS = 100, 30
TRANSITIONS = np.array([
    [0.88, 0.10, 0.01, 0.00, 0.01],
    [0.10, 0.52, 0.33, 0.00, 0.05],
    [0.03, 0.05, 0.82, 0.08, 0.02],
    [0.02, 0.01, 0.11, 0.86, 0.00],
    [0.04, 0.05, 0.03, 0.00, 0.88],
])


def pink(rng, n):
    f = np.fft.rfftfreq(n, 1 / RATE)
    spectrum = rng.normal(size=len(f)) + 1j * rng.normal(size=len(f))
    spectrum[1:] /= np.sqrt(f[1:])
    spectrum[0] = 0
    x = np.fft.irfft(spectrum, n)
    return x / x.std()


def rhythm(rng, n, low, high):
    t = np.arange(n) / RATE
    envelope = np.clip(pink(rng, n), 0, None)
    return envelope * np.sin(2 * np.pi * rng.uniform(low, high) * t + rng.uniform(0, 6.3))


def epoch(rng, stage, gain):
    n = RATE * SECONDS
    eeg, eog = 12 * pink(rng, n), 9 * pink(rng, n)
    if stage == 0:
        eeg += 14 * rhythm(rng, n, 8.5, 11.5)
        for at in rng.integers(0, n - 40, rng.integers(2, 7)):
            eog[at:at + 40] += 70 * np.hanning(40)
    elif stage == 1:
        eeg += 8 * rhythm(rng, n, 4, 7)
        eog += 22 * rhythm(rng, n, 0.2, 0.5)
    elif stage == 2:
        eeg += 5 * rhythm(rng, n, 4, 7)
        for at in rng.integers(0, n - 100, rng.integers(1, 5)):
            eeg[at:at + 100] += 18 * np.hanning(100) * np.sin(2 * np.pi * 13.2 * np.arange(100) / RATE)
        at = rng.integers(0, n - 80)
        eeg[at:at + 80] -= 60 * np.sin(np.linspace(0, 2 * np.pi, 80)) * np.hanning(80)
    elif stage == 3:
        eeg += 45 * rhythm(rng, n, 0.7, 2.2)
    else:
        eeg += 7 * rhythm(rng, n, 4, 7.5)
        for at in rng.integers(0, n - 60, rng.integers(3, 10)):
            eog[at:at + 60] += rng.choice([-1, 1]) * 55 * np.hanning(60)
    return np.stack([eeg, eog]) * gain


def night(rng, epochs):
    gain = rng.uniform(0.7, 1.4, (2, 1))
    stages = np.empty(epochs, np.int64)
    stages[0] = 0
    for i in range(1, epochs):
        stages[i] = rng.choice(5, p=TRANSITIONS[stages[i - 1]])
    signal = np.stack([epoch(rng, s, gain) for s in stages])
    return np.clip(signal * 10, -32768, 32767).astype(np.int16), stages


def main():
    out = Path("data/nights")
    out.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(8)
    for i in range(12):
        signal, stages = night(rng, int(rng.integers(460, 620)))
        np.savez(out / f"SC{i:03d}.npz", signal=signal, stages=stages, rate=RATE)


if __name__ == "__main__":
    main()
