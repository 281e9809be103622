"""Train on batches kept in a remote store; most of them are in its cache, every ninth has to be brought from an archive."""

import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

STEPS = 180


class Store(Dataset):
    def __init__(self, batches, size):
        self.inputs = torch.randn(batches, size, 256)
        self.targets = self.inputs[:, :, :8].prod(dim=2, keepdim=True)

    def __len__(self):
        return STEPS

    def __getitem__(self, index):
        time.sleep(0.2 if index % 9 == 8 else 0.002)  # here the store would be asked
        index %= len(self.inputs)
        return self.inputs[index], self.targets[index]


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    store = Store(batches=18, size=192)
    loader = DataLoader(store, batch_size=None, num_workers=2, prefetch_factor=2, pin_memory=device == "cuda")
    model = nn.Sequential(nn.Linear(256, 768), nn.ReLU(), nn.Linear(768, 768), nn.ReLU(), nn.Linear(768, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    criterion = nn.MSELoss()

    started = time.perf_counter()
    for inputs, targets in loader:
        inputs = inputs.to(device, non_blocking=True)
        targets = targets.to(device, non_blocking=True)
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
