"""Score pictures with a trained network."""

import time

import torch
from torch import nn

CUDA = torch.cuda.is_available()
STEPS, BATCH, SIZE, WIDTH = (150, 512, 112, 64) if CUDA else (6, 2, 8, 4)  # on a CPU just enough to see that it runs


def block(inputs, outputs):
    convolution = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False).eval()
    norm = nn.BatchNorm2d(outputs).eval()
    return nn.Sequential(convolution, norm, nn.ReLU())


@torch.inference_mode()
def main():
    torch.manual_seed(0)
    device = "cuda" if CUDA else "cpu"

    pictures = torch.randn(4 * BATCH, 3, SIZE, SIZE, device=device, dtype=torch.bfloat16).to(memory_format=torch.channels_last)
    blocks = nn.Sequential(block(3, WIDTH), block(WIDTH, WIDTH), block(WIDTH, WIDTH), block(WIDTH, WIDTH))
    model = nn.Sequential(blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(WIDTH, 10)).eval()
    model = model.to(device, torch.bfloat16, memory_format=torch.channels_last)
    total = torch.zeros(10, device=device)

    started = time.perf_counter()
    for step in range(STEPS):
        rows = slice(step % 4 * BATCH, (step % 4 + 1) * BATCH)
        scores = model(pictures[rows])
        total += scores.float().sum(dim=0)
    best = total.argmax().item()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, most chosen class {best}")


if __name__ == "__main__":
    main()
