"""A loader with two workers and a dataset class of __main__."""

import sys
import time

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)

from torch.utils.data import DataLoader, Dataset  # noqa: E402


class Slow(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        time.sleep(0.003)
        return torch.full((8,), float(index))


def main():
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(Slow(), batch_size=4, num_workers=2, multiprocessing_context=sys.argv[1], persistent_workers=sys.argv[1] == "spawn")
    for _ in range(int(sys.argv[2])):
        for x in loader:
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
    print(f"{loss.item():.9f}")


if __name__ == "__main__":
    main()
