"""Predict a property of a substance from its spectrum; the spectra come as rows of numbers, as a csv reader gives them."""

import random
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, RandomSampler

STEPS = 150


class Spectra(Dataset):
    def __init__(self, count, length):
        rows = [[random.gauss(0, 1) for _ in range(length)] for _ in range(count)]
        self.spectra = np.array(rows, dtype=np.float32)
        self.targets = [sum(row[:8]) / 8 for row in rows]

    def __len__(self):
        return len(self.spectra)

    def __getitem__(self, index):
        return torch.from_numpy(self.spectra[index]), self.targets[index]


def main():
    random.seed(0)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    spectra = Spectra(count=640, length=1024)
    sampler = RandomSampler(spectra, num_samples=STEPS * 64)
    loader = DataLoader(spectra, batch_size=64, sampler=sampler, pin_memory=device == "cuda")
    model = nn.Sequential(nn.Linear(1024, 768), nn.ReLU(), nn.Linear(768, 768), nn.ReLU(), nn.Linear(768, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    criterion = nn.MSELoss()

    started = time.perf_counter()
    for batch, targets in loader:
        batch = batch.to(device, non_blocking=True)
        targets = targets.to(device, torch.float32, non_blocking=True)
        optimizer.zero_grad()
        loss = criterion(model(batch).squeeze(1), targets)
        loss.backward()
        optimizer.step()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
