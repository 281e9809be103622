"""Describe pictures by a trained network's features."""

import time

import torch
from torch import nn

STEPS = 240


class Block(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.convolution = nn.Conv2d(inputs, outputs, 1, bias=False)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, pictures):
        return self.norm(self.convolution(pictures)).relu()


@torch.inference_mode()
def describe(model, pictures):
    features = []
    for step in range(STEPS):
        features.append(model(pictures[step * 48 % 576 :][:48]))
    return torch.cat(features)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    pictures = (torch.rand(576, 3, 64, 64, device=device) - 0.45) / 0.25
    blocks = [Block(3, 16), Block(16, 16)]
    model = nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten()).to(device)
    for block in blocks:
        nn.init.uniform_(block.norm.running_mean, -0.1, 0.1)
        nn.init.uniform_(block.norm.running_var, 0.1, 0.3)
    model.eval()

    started = time.perf_counter()
    features = describe(model, pictures)
    elapsed = time.perf_counter() - started

    print("features", " ".join(f"{value:.4f}" for value in features.mean(dim=0).tolist()))
    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step")


if __name__ == "__main__":
    main()
