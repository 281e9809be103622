"""Classify the shape of a signal from recordings kept as lines of text."""

import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, RandomSampler

STEPS = 150


def parse(line):
    signal = torch.tensor([float(value) for value in line.split(",")])
    return (signal - signal.mean()) / signal.std()


class Recordings(Dataset):
    """One line of comma-separated samples a recording; its label is the wave it shows."""

    def __init__(self, count, length):
        time_axis = torch.linspace(0, 1, length)
        frequency = torch.rand(count, 1) * 20 + 2
        phase = 6.28 * frequency * time_axis + torch.rand(count, 1)
        noise = torch.randn(count, length) * 0.3
        self.labels = torch.randint(3, (count,)).tolist()
        waves = torch.stack([phase.sin(), phase.sin().sign(), (phase % 6.28) / 3.14 - 1])
        signals = waves[self.labels, torch.arange(count)] + noise
        self.lines = [",".join(f"{value:.3f}" for value in signal) for signal in signals.tolist()]

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, index):
        return parse(self.lines[index]), self.labels[index]


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    recordings = Recordings(count=960, length=1024)
    sampler = RandomSampler(recordings, num_samples=STEPS * 64)
    loader = DataLoader(recordings, batch_size=64, sampler=sampler, pin_memory=device == "cuda")
    convolutions = nn.Sequential(nn.Conv1d(1, 16, 9, stride=2), nn.ReLU(), nn.Conv1d(16, 32, 9, stride=2), nn.ReLU())
    model = nn.Sequential(convolutions, nn.AdaptiveAvgPool1d(8), nn.Flatten(), nn.Linear(256, 3)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss()

    started = time.perf_counter()
    for signals, labels in loader:
        signals = signals.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        optimizer.zero_grad()
        loss = criterion(model(signals.unsqueeze(1)), labels)
        loss.backward()
        optimizer.step()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
