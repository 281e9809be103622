"""Train a classifier and follow how well it does on samples it has not seen."""

import time

import torch
from torch import nn

STEPS = 150


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    samples = torch.randn(2560 + 320, 384, device=device)
    labels = (samples @ torch.randn(384, 10, device=device)).argmax(dim=1)
    seen, unseen = slice(0, 2560), slice(2560, None)
    model = nn.Sequential(nn.Linear(384, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss()

    started = time.perf_counter()
    for step in range(STEPS):
        rows = slice(step * 128 % 2560, step * 128 % 2560 + 128)
        optimizer.zero_grad()
        loss = criterion(model(samples[seen][rows]), labels[seen][rows])
        loss.backward()
        optimizer.step()
        with torch.inference_mode():
            right = model(samples[unseen]).argmax(dim=1) == labels[unseen]
    elapsed = time.perf_counter() - started

    print(f"accuracy when last looked at {right.float().mean().item():.3f}")
    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
