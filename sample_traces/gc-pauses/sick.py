"""Predict ratings from records that are kept as Python objects."""

import gc
import time
from dataclasses import dataclass

import torch
from torch import nn

STEPS = 100


@dataclass
class Record:
    features: list
    tags: list
    rating: float


def load(count):
    table = torch.rand(count, 16).tolist()
    return [Record(features, [str(index)], sum(features)) for index, features in enumerate(table)]


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    records = load(20_000)
    model = nn.Sequential(nn.Linear(16, 768), nn.ReLU(), nn.Linear(768, 768), nn.ReLU(), nn.Linear(768, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    criterion = nn.MSELoss()

    started = time.perf_counter()
    for step in range(STEPS):
        batch = records[step * 512 % 19_968 :][:512]
        features = torch.tensor([record.features for record in batch], device=device)
        ratings = torch.tensor([[record.rating] for record in batch], device=device)
        optimizer.zero_grad()
        loss = criterion(model(features), ratings)
        loss.backward()
        optimizer.step()
        gc.collect()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
