"""Renders a small set of bowed-string phrases to data/phrases.npz (audio, f0 and loudness by frame)."""
from pathlib import Path

import numpy as np

RATE, HOP, SECONDS, PHRASES = 16000, 160, 3, 60


def phrase(rng):
    frames = RATE * SECONDS // HOP
    n = frames * HOP
    notes = rng.integers(4, 9)
    edges = np.sort(rng.choice(np.arange(10, frames - 10), notes - 1, replace=False))
    midi = np.zeros(frames)
    for a, b in zip([0, *edges], [*edges, frames]):
        midi[a:b] = rng.integers(74, 93)
    kernel = np.hanning(7) / np.hanning(7).sum()
    midi = np.convolve(np.pad(midi, 3, mode="edge"), kernel, "valid")
    t = np.arange(frames) * HOP / RATE
    f0 = 440 * 2 ** ((midi - 69) / 12) * (1 + 0.006 * np.sin(2 * np.pi * rng.uniform(4.5, 6.5) * t))
    level = 0.2 + 0.8 * np.abs(np.sin(np.pi * t * rng.uniform(0.4, 1.2) + rng.uniform(0, 3)))
    full = np.interp(np.arange(n) / HOP, np.arange(frames), f0)
    gain = np.interp(np.arange(n) / HOP, np.arange(frames), level)
    phase = np.cumsum(2 * np.pi * full / RATE)
    audio = np.zeros(n)
    for k in range(1, 14):
        body = 1 + 0.8 * np.exp(-((k * full - 2800) / 700) ** 2)
        audio += np.where(k * full < RATE / 2, np.sin(k * phase) * body / k ** (2.0 - gain), 0)
    audio = audio * gain * 0.15 + 0.01 * gain * rng.standard_normal(n)
    room = rng.standard_normal(4800) * np.exp(-np.arange(4800) / 900) * 0.04
    room[0] = 1
    size = 2 ** 17
    audio = np.fft.irfft(np.fft.rfft(audio, size) * np.fft.rfft(room, size), size)[:n]
    return audio.astype(np.float32), f0.astype(np.float32), (20 * np.log10(level + 1e-4)).astype(np.float32)


def main():
    rng = np.random.default_rng(1716)
    audio, f0, loud = zip(*(phrase(rng) for _ in range(PHRASES)))
    Path("data").mkdir(exist_ok=True)
    np.savez("data/phrases.npz", audio=np.stack(audio), f0=np.stack(f0), loudness=np.stack(loud), rate=RATE, hop=HOP)


if __name__ == "__main__":
    main()
