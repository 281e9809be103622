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
        members = [member() for _ in range(MEMBERS)]
        for layer in (0, 2, 4):
            self.register_parameter(f"weight{layer}", nn.Parameter(torch.stack([network[layer].weight.T for network in members])))
            self.register_parameter(f"bias{layer}", nn.Parameter(torch.stack([network[layer].bias[None] for network in members])))

    def forward(self, measurements):
        hidden = torch.baddbmm(self.bias0, measurements.expand(MEMBERS, -1, -1), self.weight0).tanh()
        hidden = torch.baddbmm(self.bias2, hidden, self.weight2).tanh()
        return torch.baddbmm(self.bias4, hidden, self.weight4)


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
