"""Makes recordings of waggle dances: spectrograms of the buzzing and the spoken code of the dance.

A dance is a sequence of runs; each run has a direction (one of 12) and a length (one of 6), written as two tokens.
"""
import numpy as np

DIRECTIONS, LENGTHS = 12, 6
BOS, EOS, PAD = 0, 1, 2
FIRST_DIRECTION, FIRST_LENGTH = 3, 3 + DIRECTIONS


def dance(rng, bands=48):
    runs = int(rng.integers(3, 8))
    frames, tokens = [], [BOS]
    for _ in range(runs):
        direction, length = int(rng.integers(DIRECTIONS)), int(rng.integers(LENGTHS))
        pause = int(rng.integers(4, 9))
        duration = 6 + 3 * length
        run = np.zeros((duration, bands), np.float32)
        centre = 4 + 3.4 * direction + 0.15 * np.arange(duration)
        run += np.exp(-0.5 * ((np.arange(bands)[None] - centre[:, None]) / 1.5) ** 2)
        run *= 1 + 0.4 * np.sin(1.9 * np.arange(duration))[:, None]
        frames += [np.zeros((pause, bands), np.float32), run]
        tokens += [FIRST_DIRECTION + direction, FIRST_LENGTH + length]
    tokens.append(EOS)
    spectrogram = np.concatenate(frames)
    spectrogram += rng.normal(0, 0.25, spectrogram.shape)
    return spectrogram.astype(np.float16), np.array(tokens, np.int64)


def main():
    rng = np.random.default_rng(77)
    for split, count in (("train", 2400), ("valid", 160)):
        pairs = [dance(rng) for _ in range(count)]
        np.savez(f"dances_{split}.npz",
                 frames=np.concatenate([p[0] for p in pairs]),
                 frame_counts=np.array([len(p[0]) for p in pairs]),
                 tokens=np.concatenate([p[1] for p in pairs]),
                 token_counts=np.array([len(p[1]) for p in pairs]))


if __name__ == "__main__":
    main()
