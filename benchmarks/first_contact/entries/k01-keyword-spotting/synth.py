"""Synthetic keyword corpus: each class is a fixed sequence of formant glides, each take differs in pitch,
tempo, loudness and onset."""
import numpy as np

SR = 16000
CLASSES = ["yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go", "unknown", "silence"]


def class_recipes(seed=3):
    rng = np.random.default_rng(seed)
    recipes = []
    for _ in CLASSES:
        n_seg = int(rng.integers(2, 5))
        recipes.append(rng.uniform(250, 3200, size=(n_seg, 3)))
    return recipes


def render(recipe, rng):
    length = int(SR * rng.uniform(0.45, 0.85))
    knots = np.linspace(0, 1, len(recipe))
    t = np.linspace(0, 1, length)
    out = np.zeros(length)
    jitter = rng.uniform(0.92, 1.08)
    for k, amp in zip(range(3), (1.0, 0.6, 0.3)):
        freq = np.interp(t, knots, recipe[:, k]) * jitter
        out += amp * np.sin(2 * np.pi * np.cumsum(freq) / SR)
    out *= np.hanning(length) * rng.uniform(0.2, 0.9)
    wave = rng.normal(0, 0.002, SR)
    start = int(rng.integers(0, SR - length))
    wave[start:start + length] += out
    return wave.astype(np.float32)


def build_corpus(n, seed):
    rng = np.random.default_rng(seed)
    recipes = class_recipes()
    labels = rng.integers(0, len(CLASSES), size=n)
    waves = []
    for y in labels:
        if CLASSES[y] == "silence":
            waves.append(rng.normal(0, 0.003, SR).astype(np.float32))
        else:
            waves.append(render(recipes[y], rng))
    return waves, labels.astype(np.int64)


def background_recordings(seconds=80, seed=11):
    """A handful of long background noises, like the _background_noise_ folder of Speech Commands."""
    rng = np.random.default_rng(seed)
    n = seconds * SR
    white = rng.normal(0, 0.3, n)
    brown = np.cumsum(rng.normal(0, 1, n))
    brown = brown - np.convolve(brown, np.ones(400) / 400, mode="same")
    hum = 0.4 * np.sin(2 * np.pi * 50 * np.arange(n) / SR) + rng.normal(0, 0.05, n)
    tap = np.where(rng.random(n) < 2e-4, 1.0, 0.0)
    tap = np.convolve(tap, np.exp(-np.arange(800) / 120.0), mode="same") + rng.normal(0, 0.01, n)
    return {"white": white.astype(np.float32), "brown": brown.astype(np.float32),
            "hum": hum.astype(np.float32), "tap": tap.astype(np.float32)}
