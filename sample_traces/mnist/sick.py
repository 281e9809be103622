"""Train a small feed-forward network on pictures of MNIST's shapes, kept compressed and decoded one by one."""

import time
import zlib

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

STEPS = 900
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Pictures(Dataset):
    """28 × 28 grey pictures: strokes on an empty ground, as compressed bytes."""

    def __init__(self, count):
        strokes = np.random.default_rng(0).integers(0, 256, (count, 28, 28), dtype=np.uint8)
        strokes[:, :, :10] = strokes[:, :, 18:] = strokes[:, :4] = strokes[:, 24:] = 0
        self.files = [zlib.compress(picture.tobytes()) for picture in strokes]
        self.labels = [int(picture.sum()) % 10 for picture in strokes]

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        picture = np.frombuffer(zlib.decompress(self.files[index]), np.uint8).reshape(1, 28, 28)
        tensor = torch.from_numpy(picture.copy()).to(torch.float32).div(255)
        return tensor.sub_(0.1307).div_(0.3081), self.labels[index]


def main():
    torch.manual_seed(0)
    loader = DataLoader(Pictures(STEPS * 64), batch_size=64, shuffle=True)
    layers = [nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)]
    model = nn.Sequential(*layers).to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    criterion = nn.CrossEntropyLoss()

    started = time.perf_counter()
    for pictures, labels in loader:
        pictures, labels = pictures.to(DEVICE), labels.to(DEVICE)
        optimizer.zero_grad()
        loss = criterion(model(pictures), labels)
        loss.backward()
        optimizer.step()
    last = loss.item()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {last:.4f}")


if __name__ == "__main__":
    main()
