"""Train a small convolutional network to find the brighter half of a picture."""

import time

import torch
from torch import nn

STEPS = 120


def batch_loss(model, criterion, pictures, labels):
    return sum(criterion(model(picture[None]), label[None]) for picture, label in zip(pictures, labels, strict=True)) / len(pictures)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    pictures = torch.rand(960, 1, 32, 32, device=device)
    labels = (pictures[:, 0, :16].mean(dim=(1, 2)) > pictures[:, 0, 16:].mean(dim=(1, 2))).long()
    model = nn.Sequential(nn.Conv2d(1, 48, 7, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(8112, 2)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    criterion = nn.CrossEntropyLoss()

    started = time.perf_counter()
    for step in range(STEPS):
        rows = slice(step * 10 % 960, step * 10 % 960 + 10)
        optimizer.zero_grad()
        loss = batch_loss(model, criterion, pictures[rows], labels[rows])
        loss.backward()
        optimizer.step()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
