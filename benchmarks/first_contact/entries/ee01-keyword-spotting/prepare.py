"""Writes data/: a small keyword corpus in the layout of Speech Commands."""
import argparse
from pathlib import Path

import numpy as np
from scipy.io import wavfile

WORDS = ["yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go", "one", "two"]
RATE = 16000


def word(rng, formants):
    length = int(rng.uniform(0.45, 0.75) * RATE)
    t = np.arange(length) / RATE
    pitch = rng.uniform(90, 230)
    voice = np.zeros(length)
    position = np.linspace(0, len(formants) - 1, length)
    for which in range(formants.shape[1]):
        track = np.interp(position, np.arange(len(formants)), formants[:, which]) * rng.uniform(0.92, 1.08)
        phase = 2 * np.pi * np.cumsum(track) / RATE
        voice += np.sin(phase) / (which + 1)
    voice *= 1 + 0.6 * np.sin(2 * np.pi * pitch * t)
    voice *= np.hanning(length) ** 0.5
    clip = rng.normal(0, 0.004, RATE)
    start = rng.integers(0, RATE - length)
    clip[start:start + length] += 0.2 * voice
    return clip


def background(rng, seconds):
    white = rng.normal(size=int(seconds * RATE))
    spectrum = np.fft.rfft(white)
    frequency = np.arange(1, len(spectrum) + 1)
    spectrum /= frequency ** rng.uniform(0.2, 0.9)
    noise = np.fft.irfft(spectrum)
    return 0.5 * noise / np.abs(noise).max()


def save(path, clip):
    path.parent.mkdir(parents=True, exist_ok=True)
    wavfile.write(path, RATE, (np.clip(clip, -1, 1) * 32767).astype(np.int16))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="data")
    parser.add_argument("--per-word", type=int, default=130)
    args = parser.parse_args()
    rng = np.random.default_rng(2024)
    out = Path(args.out)
    validation = []
    for name in WORDS:
        formants = rng.uniform([250, 800, 1900], [900, 1800, 3200], size=(4, 3))
        for number in range(args.per_word):
            path = out / name / f"{rng.integers(1 << 32):08x}_nohash_{number % 5}.wav"
            save(path, word(rng, formants))
            if number % 10 == 0:
                validation.append(f"{name}/{path.name}")
    (out / "validation_list.txt").write_text("\n".join(validation) + "\n")
    for name, seconds in [("doing_the_dishes", 95), ("dude_miaowing", 62), ("exercise_bike", 61),
                          ("pink_noise", 60), ("running_tap", 61), ("white_noise", 60)]:
        save(out / "_background_noise_" / f"{name}.wav", background(rng, seconds))


if __name__ == "__main__":
    main()
