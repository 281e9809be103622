"""Score measurements with an ensemble of little networks, each with weights of its own."""

import time

import torch
from torch import nn

STEPS = 150
MEMBERS = 192


def member():
    return nn.Sequential(nn.Linear(16, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))


class Ensemble(nn.Module):
    def __init__(self):
        super().__init__()
        self.members = nn.ModuleList(member() for _ in range(MEMBERS))

    def forward(self, measurements):
        return torch.stack([network(measurements) for network in self.members])


@torch.inference_mode()
def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    measurements = torch.randn(19200, 16, device=device)
    model = Ensemble().to(device).eval()
    spread = torch.zeros((), device=device)

    started = time.perf_counter()
    for step in range(STEPS):
        scores = model(measurements[step * 128 % 19200 :][:128])
        spread += scores.std(dim=0).mean()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, mean deviation {spread.item() / STEPS:.4f}")


if __name__ == "__main__":
    main()
