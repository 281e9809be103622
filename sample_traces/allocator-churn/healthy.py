"""Train a network on texts of growing length."""

import time

import torch
from torch import nn

CUDA = torch.cuda.is_available()
STEPS, BATCH, WIDTH = (120, 96, 1024) if CUDA else (6, 2, 16)  # on a CPU just enough to see that it runs
LENGTHS = range(512, 512 + 16 * STEPS, 16)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, tokens):
        return tokens + self.net(tokens)


def losses(model, texts, length):
    tokens = texts[:, :length]
    with torch.autocast(texts.device.type, torch.bfloat16):
        loss = model(tokens).float().square().mean()
    loss.backward()
    return loss


def main():
    torch.manual_seed(0)
    device = "cuda" if CUDA else "cpu"

    texts = torch.randn(BATCH, LENGTHS[-1], WIDTH, device=device)
    model = nn.Sequential(Layer(), Layer()).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-5)
    losses(model, texts, LENGTHS[-1])

    started = time.perf_counter()
    for length in LENGTHS:
        optimizer.zero_grad()
        loss = losses(model, texts, length)
        optimizer.step()
    last = loss.item()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {last:.4f}")


if __name__ == "__main__":
    main()
