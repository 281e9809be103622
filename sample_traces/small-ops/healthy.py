"""Describe a tide as a sum of many waves and see how it varies."""

import time

import torch
from torch import nn

STEPS = 150
WAVES = 150


class Wave(nn.Module):
    def __init__(self):
        super().__init__()
        self.height, self.speed, self.phase = (nn.Parameter(values) for values in torch.rand(3, 1))


class Tide(nn.Module):
    def __init__(self):
        super().__init__()
        waves = [Wave() for _ in range(WAVES)]
        self.height, self.speed, self.phase = (
            nn.Parameter(torch.stack([getattr(wave, name) for wave in waves])) for name in ("height", "speed", "phase")
        )

    def forward(self, times):
        return (self.height * torch.sin(self.speed * times + self.phase)).sum(dim=0)


@torch.inference_mode()
def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    times = torch.rand(460_800, device=device) * 100
    model = Tide().to(device).eval()
    variation = torch.zeros((), device=device)

    started = time.perf_counter()
    for step in range(STEPS):
        levels = model(times[step * 3072 % 460_800 :][:3072])
        variation += levels.std()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, mean deviation {variation.item() / STEPS:.4f}")


if __name__ == "__main__":
    main()
