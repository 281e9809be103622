"""Learn to undo a random mixing of signals, with a log of what the network gives."""

import io
import time

import torch
from torch import nn

STEPS = 150


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    signals = torch.randn(3840, 256, device=device).tanh()
    mixed = signals @ torch.randn(256, 256, device=device) / 16
    model = nn.Sequential(nn.Linear(256, 448), nn.ReLU(), nn.Linear(448, 448), nn.ReLU(), nn.Linear(448, 256)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.MSELoss()
    log = io.StringIO()

    started = time.perf_counter()
    for step in range(STEPS):
        rows = slice(step * 128 % 3840, step * 128 % 3840 + 128)
        optimizer.zero_grad()
        outputs = model(mixed[rows])
        loss = criterion(outputs, signals[rows])
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step}", outputs[0, :110], file=log)
    elapsed = time.perf_counter() - started

    print(f"the log begins with {log.getvalue()[:25]} …")
    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
