"""Stand-in recordings for the insole study: strides of 24 walkers and a pretrained encoder."""
from pathlib import Path

import numpy as np
import torch

from model import InsoleEncoder

ROOT = Path(__file__).resolve().parent
WALKERS, STRIDES, SENSORS, IMU = 24, 60, 32, 6


def main():
    rng = np.random.default_rng(2207)
    (ROOT / "data").mkdir(exist_ok=True)
    signals, moments, lengths, toe_off, walker = [], [], [], [], []
    place = np.linspace(0.05, 0.55, SENSORS)
    for w in range(WALKERS):
        mass = rng.uniform(52, 98)
        gain = rng.uniform(0.6, 1.4, SENSORS) * mass
        for _ in range(STRIDES):
            n = int(rng.integers(92, 138))
            phase = np.linspace(0, 1, n)
            stance = rng.uniform(0.57, 0.66)
            speed = rng.uniform(0.8, 1.3)
            loads = gain * np.exp(-((phase[:, None] - place) / (0.10 / speed)) ** 2) * (phase[:, None] < stance)
            swing = np.stack([np.sin(2 * np.pi * (k + 1) * phase / speed) for k in range(IMU)], axis=1)
            both = np.concatenate([loads + rng.uniform(1, 6, SENSORS), swing], axis=1)
            signals.append((both + rng.normal(0, 0.4, both.shape)).astype(np.float32))
            t = np.linspace(0, 1, 101)
            ankle = 1.4 * speed * np.exp(-((t - 0.48) / 0.11) ** 2) - 0.1 * np.exp(-((t - 0.07) / 0.04) ** 2)
            knee = 0.6 * speed * np.sin(2 * np.pi * t / stance) * (t < stance)
            hip = 0.7 * np.cos(np.pi * t / stance) * speed
            moments.append((np.stack([ankle, knee, hip]) + rng.normal(0, 0.02, (3, 101))).astype(np.float32))
            lengths.append(n)
            toe_off.append(int(stance * 101))
            walker.append(w)
    np.savez(ROOT / "data" / "strides.npz", signals=np.concatenate(signals), moments=np.stack(moments),
             lengths=np.array(lengths), toe_off=np.array(toe_off), walker=np.array(walker))
    torch.manual_seed(5)
    torch.save(InsoleEncoder(SENSORS + IMU).state_dict(), ROOT / "data" / "encoder.pt")


if __name__ == "__main__":
    main()
