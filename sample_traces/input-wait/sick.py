"""Classify the shape of a wave from compressed recordings."""

import time
import zlib

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, RandomSampler

STEPS = 150
DECIMATION = 48


def unpack(packed):
    samples = np.frombuffer(zlib.decompress(packed), np.int16).reshape(-1, DECIMATION)
    signal = torch.from_numpy(samples.mean(axis=1, dtype=np.float32))
    return (signal - signal.mean()) / signal.std()


class Recordings(Dataset):
    def __init__(self, count, length):
        random = np.random.default_rng(0)
        self.labels = random.integers(3, size=count).tolist()
        phase = np.linspace(0, 6.28, length * DECIMATION) * random.uniform(4, 40, (count, 1))
        waves = np.stack([np.sin(phase), np.sign(np.sin(phase)), phase % 6.28 / 3.14 - 1])
        waves = waves[self.labels, np.arange(count)] + random.normal(scale=0.3, size=phase.shape)
        sounds = [(1000 * wave).astype(np.int16).tobytes() for wave in waves]
        self.packed = [zlib.compress(sound, level=1) for sound in sounds]

    def __len__(self):
        return len(self.packed)

    def __getitem__(self, index):
        return unpack(self.packed[index]), self.labels[index]


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    recordings = Recordings(count=96, length=1000)
    sampler = RandomSampler(recordings, num_samples=STEPS * 32)
    loader = DataLoader(recordings, batch_size=32, sampler=sampler, pin_memory=device == "cuda")
    convolutions = nn.Sequential(nn.Conv1d(1, 16, 9, stride=2), nn.ReLU(), nn.Conv1d(16, 32, 9, stride=2), nn.ReLU())
    model = nn.Sequential(convolutions, nn.AdaptiveAvgPool1d(8), nn.Flatten(), nn.Linear(256, 3)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    started = time.perf_counter()
    for signals, labels in loader:
        signals = signals.to(device, non_blocking=True)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(signals.unsqueeze(1)), labels.to(device, non_blocking=True))
        loss.backward()
        optimizer.step()
    elapsed = time.perf_counter() - started
    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
