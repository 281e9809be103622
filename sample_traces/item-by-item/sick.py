"""Fit a small network to a table of customers that is held in memory."""

import time

import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

STEPS = 150
BATCH = 512


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    rows = torch.randn(BATCH * 20, 48)
    rows[:, -1] = (rows[:, :4].sum(dim=1) > rows[:, 4:8].prod(dim=1)).float()  # whether he bought
    table = TensorDataset(rows)
    batches = BatchSampler(RandomSampler(table, num_samples=STEPS * BATCH), BATCH, drop_last=True)
    loader = DataLoader(table, batch_sampler=batches, pin_memory=device == "cuda")
    model = nn.Sequential(nn.Linear(47, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.BCEWithLogitsLoss()

    started = time.perf_counter()
    for (batch,) in loader:
        batch = batch.to(device, non_blocking=True)
        optimizer.zero_grad()
        loss = criterion(model(batch[:, :-1]).squeeze(1), batch[:, -1])
        loss.backward()
        optimizer.step()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
