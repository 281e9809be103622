"""Train a transformer's layer to give its inputs back."""

import time

import torch
from torch import nn
from torch.nn import functional

CUDA = torch.cuda.is_available()
STEPS, BATCH, LENGTH, HEADS, SIZE = (100, 8, 2048, 16, 64) if CUDA else (6, 2, 16, 2, 4)  # on a CPU just enough to see that it runs
WIDTH = HEADS * SIZE


def attend(queries, keys, values):
    return torch.softmax(queries @ keys.transpose(-2, -1) / SIZE**0.5, dim=-1) @ values


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inputs, self.output = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, tokens):
        parts = self.inputs(tokens).unflatten(-1, (3, HEADS, SIZE)).movedim(2, 0).transpose(2, 3)
        return tokens + self.output(attend(*parts).transpose(1, 2).flatten(2))


def main():
    torch.manual_seed(0)
    device = "cuda" if CUDA else "cpu"

    sequences = torch.randn(8 * BATCH, LENGTH, WIDTH, device=device)
    model = nn.Sequential(Layer(), Layer()).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)

    started = time.perf_counter()
    for step in range(STEPS):
        batch = sequences[step % 8 * BATCH :][:BATCH]
        with torch.autocast(device, torch.bfloat16):
            loss = functional.mse_loss(model(batch), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    last = loss.item()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {last:.4f}")


if __name__ == "__main__":
    main()
