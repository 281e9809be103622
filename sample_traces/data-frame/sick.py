"""Train on samples drawn at random and note in a table when each of them was used."""

import time

import numpy as np
import pandas as pd
import torch
from torch import nn

STEPS = 150
BATCH = 512


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    inputs = torch.randn(5120, 320, device=device)
    targets = inputs[:, :16].mean(dim=1, keepdim=True).cos()
    model = nn.Sequential(nn.Linear(320, 192), nn.ReLU(), nn.Linear(192, 192), nn.ReLU(), nn.Linear(192, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    criterion = nn.MSELoss()
    random = np.random.default_rng(0)
    uses = pd.DataFrame({"step": pd.Series(dtype=int), "sample": pd.Series(dtype=int)})

    started = time.perf_counter()
    for step in range(STEPS):
        samples = random.integers(5120, size=BATCH)
        rows = torch.from_numpy(samples).to(device)
        optimizer.zero_grad()
        loss = criterion(model(inputs[rows]), targets[rows])
        loss.backward()
        optimizer.step()
        uses = pd.concat([uses, pd.DataFrame([{"step": step, "sample": sample} for sample in samples])], ignore_index=True)
    elapsed = time.perf_counter() - started

    print(f"{len(uses)} uses, of {uses['sample'].nunique()} samples")
    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
