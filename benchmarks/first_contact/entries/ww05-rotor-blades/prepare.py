"""Synthetic vibration records of wind-turbine blades: records.npy (record, channel, sample) and labels.json."""
import json

import numpy as np

STATES = ["sound", "ice", "crack", "loose_bolt", "erosion"]
RECORDS, CHANNELS, SAMPLES = 240, 6, 8192


def record(rng, state):
    t = np.arange(SAMPLES) / 256
    speed = rng.uniform(0.2, 0.35)
    signal = np.zeros((CHANNELS, SAMPLES))
    shift = {1: -0.12, 2: -0.05}.get(state, 0.0)
    for channel in range(CHANNELS):
        for mode, frequency in enumerate((1.1, 3.2, 7.4, 15.0)):
            size = rng.uniform(0.5, 1) / (mode + 1)
            tone = frequency * (1 + shift) * (1 + rng.normal(0, 0.01))
            signal[channel] += size * np.sin(6.283 * tone * t + rng.uniform(0, 6.283))
        signal[channel] += np.sin(6.283 * speed * t + channel * 2.09)
    if state == 2:
        signal *= 1 + 0.3 * (np.sin(6.283 * speed * t) > 0.6)
    elif state == 3:
        for start in rng.integers(0, SAMPLES - 64, 90):
            signal[:, start:start + 64] += rng.normal(0, 1) * np.exp(-np.arange(64) / 10) * np.sin(np.arange(64) * 1.1)
    noise = 0.5 if state == 4 else 0.25
    return signal + rng.normal(0, noise, signal.shape)


def main():
    rng = np.random.default_rng(51)
    labels = [int(rng.integers(0, len(STATES))) for _ in range(RECORDS)]
    np.save("records.npy", np.stack([record(rng, label) for label in labels]).astype(np.float32))
    with open("labels.json", "w") as file:
        json.dump({"states": STATES, "labels": labels, "validation": list(range(0, RECORDS, 6))}, file)


if __name__ == "__main__":
    main()
