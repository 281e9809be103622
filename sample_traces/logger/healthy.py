"""Train a recommender's ranking head and show its weights in TensorBoard."""

import tempfile
import time

import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

STEPS = 150


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    visits = torch.randn(3840, 320, device=device)
    ratings = visits[:, :32].mean(dim=1, keepdim=True).exp()
    model = nn.Sequential(nn.Linear(320, 512), nn.ReLU(), nn.Linear(512, 768), nn.ReLU(), nn.Linear(768, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    criterion = nn.MSELoss()

    with tempfile.TemporaryDirectory() as folder, SummaryWriter(folder) as writer:
        started = time.perf_counter()
        for step in range(STEPS):
            rows = slice(step * 192 % 3840, step * 192 % 3840 + 192)
            optimizer.zero_grad()
            loss = criterion(model(visits[rows]), ratings[rows])
            loss.backward()
            optimizer.step()
            if step % 100 == 0:
                writer.add_histogram("first layer", model[0].weight, step, bins=64)
        elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
