"""Tell from many sensors' signals which machine is running."""

import time

import torch
from torch import nn

STEPS = 150


class Detector(nn.Module):
    def __init__(self, sensors, machines):
        super().__init__()
        self.encode = nn.Linear(sensors, 16)
        self.head = nn.Linear(16, machines)

    def forward(self, signals):
        frames = signals.clone().transpose(0, 1).contiguous()
        encoded = self.encode(frames).relu().mean(dim=0)
        return self.head(encoded)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    signals = torch.randn(960, 192, 64, device=device)
    labels = signals[:, :, :3].mean(dim=1).argmax(dim=1)
    model = Detector(sensors=64, machines=3).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    criterion = nn.CrossEntropyLoss()

    started = time.perf_counter()
    for step in range(STEPS):
        rows = slice(step * 96 % 960, step * 96 % 960 + 96)
        optimizer.zero_grad()
        loss = criterion(model(signals[rows]), labels[rows])
        loss.backward()
        optimizer.step()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
