"""Assign signals to the nearest of a trained network's prototypes."""

import time

import torch
from torch import nn

STEPS = 100


class Prototypes(nn.Module):
    def __init__(self, inputs, width, count):
        super().__init__()
        self.encode = nn.Linear(inputs, width)
        self.prototypes = nn.Parameter(torch.randn(count, width))

    def forward(self, signals):
        codes = self.encode(signals)
        differences = codes.unsqueeze(1).repeat(1, len(self.prototypes), 1) - self.prototypes.repeat(len(codes), 1, 1)
        return differences.abs().sum(dim=2).argmin(dim=1)


@torch.inference_mode()
def assign(model, signals):
    return torch.cat([model(signals[step * 128 % 7680 :][:128]) for step in range(STEPS)])


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    signals = torch.randn(7680, 48, device=device)
    model = Prototypes(inputs=48, width=64, count=1100).to(device).eval()

    started = time.perf_counter()
    nearest = assign(model, signals)
    elapsed = time.perf_counter() - started

    print("signals of the first prototypes", nearest.bincount(minlength=1100)[:16].tolist())
    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step")


if __name__ == "__main__":
    main()
