"""Fit a regressor to few measurements in many short epochs, with noise added to each of them on the way."""

import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, RandomSampler

EPOCHS = 25


class Measurements(Dataset):
    def __init__(self, count, features):
        self.inputs = torch.randn(count, features)
        self.targets = self.inputs[:, :8].sin().sum(dim=1, keepdim=True)

    def __len__(self):
        return len(self.inputs)

    def __getitem__(self, index):
        noise = np.random.default_rng(index).normal(scale=0.05, size=self.inputs.shape[1])
        return self.inputs[index] + torch.from_numpy(noise).float(), self.targets[index]


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    measurements = Measurements(count=512, features=512)
    sampler = RandomSampler(measurements, generator=torch.Generator().manual_seed(1))
    loader = DataLoader(measurements, batch_size=64, sampler=sampler, num_workers=2, pin_memory=device == "cuda")
    model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    criterion = nn.MSELoss()

    step = 0
    started = time.perf_counter()
    for _epoch in range(EPOCHS):
        for inputs, targets in loader:
            inputs = inputs.to(device, non_blocking=True)
            targets = targets.to(device, non_blocking=True)
            optimizer.zero_grad()
            loss = criterion(model(inputs), targets)
            loss.backward()
            optimizer.step()
            step += 1
    elapsed = time.perf_counter() - started

    print(f"{step} steps, {1000 * elapsed / step:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
