"""Classify tiles of satellite pictures which a store elsewhere hands out, a batch a request."""

import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

STEPS = 150


class Tiles(Dataset):
    def __init__(self, batches, size, answer_seconds):
        self.tiles = torch.randn(batches, size, 3, 32, 32)
        self.labels = (self.tiles.mean(dim=(2, 3, 4)) > 0).long()
        self.answer_seconds = answer_seconds

    def __len__(self):
        return STEPS

    def __getitem__(self, index):
        time.sleep(self.answer_seconds)  # here the store would be asked
        index %= len(self.tiles)
        return self.tiles[index], self.labels[index]


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    tiles = Tiles(batches=10, size=160, answer_seconds=0.06)
    loader = DataLoader(tiles, batch_size=None, num_workers=2, pin_memory=device == "cuda")
    convolutions = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU())
    model = nn.Sequential(convolutions, nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(512, 2)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss()

    started = time.perf_counter()
    for pictures, labels in loader:
        pictures = pictures.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        optimizer.zero_grad()
        loss = criterion(model(pictures), labels)
        loss.backward()
        optimizer.step()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
