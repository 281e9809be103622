"""Tell heart rhythms apart from recordings whose baseline wanders: a running median takes it out."""

import time

import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view
from torch import nn
from torch.utils.data import DataLoader, Dataset, RandomSampler

STEPS = 150
WINDOW = 15


class Recordings(Dataset):
    def __init__(self, count, length):
        random = np.random.default_rng(0)
        beats = np.sin(np.linspace(0, 1, length) * random.uniform(60, 120, (count, 1))) ** 9
        self.signals = (beats + random.normal(size=(count, length)).cumsum(axis=1) * 0.05).astype(np.float32)
        self.labels = random.integers(2, size=count).tolist()

    def __len__(self):
        return len(self.signals)

    def __getitem__(self, index):
        signal = self.signals[index]
        baseline = np.median(sliding_window_view(signal, WINDOW), axis=1)
        level = signal[WINDOW // 2 : -(WINDOW // 2)] - baseline
        return torch.from_numpy(level), self.labels[index]


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    recordings = Recordings(count=480, length=1024)
    sampler = RandomSampler(recordings, num_samples=STEPS * 32)
    loader = DataLoader(recordings, batch_size=32, sampler=sampler, pin_memory=device == "cuda")
    convolutions = nn.Sequential(nn.Conv1d(1, 24, 9, stride=2), nn.ReLU(), nn.Conv1d(24, 48, 9, stride=2), nn.ReLU())
    model = nn.Sequential(convolutions, nn.AdaptiveAvgPool1d(8), nn.Flatten(), nn.Linear(384, 2)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss()

    started = time.perf_counter()
    for signals, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(signals.to(device, non_blocking=True).unsqueeze(1)), labels.to(device, non_blocking=True))
        loss.backward()
        optimizer.step()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
