"""Train an ensemble of sixty-four small networks on the same readings."""

import time

import torch
from torch import nn

CUDA = torch.cuda.is_available()
STEPS, BATCH, WIDTH, MEMBERS = (100, 256, 128, 64) if CUDA else (6, 8, 8, 4)  # on a CPU just enough to see that it runs
LAYERS = 6


class Ensemble(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = nn.ParameterList([torch.randn(MEMBERS, WIDTH, WIDTH) / WIDTH**0.5 for _ in range(LAYERS)])

    def forward(self, batch):
        hidden = batch.expand(MEMBERS, -1, -1)
        for weights in self.weights:
            hidden = torch.stack([row @ weight for row, weight in zip(hidden.unbind(), weights.unbind(), strict=True)])
            hidden = torch.tanh(hidden)
        return hidden


def main():
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    device = "cuda" if CUDA else "cpu"

    readings = torch.randn(16 * BATCH, WIDTH, device=device)
    model = Ensemble().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)

    started = time.perf_counter()
    for step in range(STEPS):
        batch = readings[step % 16 * BATCH :][:BATCH]
        loss = (model(batch) - batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    last = loss.item()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {last:.4f}")


if __name__ == "__main__":
    main()
