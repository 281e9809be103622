"""Plucked strings by Karplus-Strong: 1600 clips of half a second at 16 kHz, 16 bit."""
import numpy as np

RATE, N, LEN = 16000, 1600, 8000


def main():
    rng = np.random.default_rng(5)
    course, fret, pick = rng.integers(0, 4, N), rng.integers(0, 12, N), rng.integers(0, 3, N)
    freq = np.array([196.0, 293.66, 440.0, 659.26])[course] * 2 ** (fret / 12) * rng.normal(1, 0.003, N)
    period = np.maximum(2, (RATE / freq).astype(int))
    wave = np.zeros((N, LEN), np.float32)
    for p in np.unique(period):
        who = np.flatnonzero(period == p)
        line = rng.uniform(-1, 1, (len(who), p))
        bright = np.array([0.5, 0.65, 0.8])[pick[who]][:, None]
        out = []
        for _ in range(LEN // p + 1):
            out.append(line)
            line = 0.996 * (bright * line + (1 - bright) * np.roll(line, 1, 1))
        wave[who] = np.concatenate(out, 1)[:, :LEN]
    wave += 0.01 * rng.standard_normal(wave.shape).astype(np.float32)
    pcm = (np.clip(wave, -1, 1) * 32767).astype(np.int16)
    np.savez("plucks.npz", pcm=pcm, course=course, fret=fret, pick=pick)


if __name__ == "__main__":
    main()
