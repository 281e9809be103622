"""Learn to add the numbers of a sequence with a small recurrent network."""

import time

import torch
from torch import nn

STEPS = 400


class Adder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embed = nn.Linear(2, width)
        self.mix = nn.Linear(width, width)
        self.head = nn.Linear(width, 1)

    def forward(self, sequences):
        state = self.embed(sequences[:, 0])
        for values in sequences[:, 1:].unbind(dim=1):
            state = torch.tanh(self.mix(state + self.embed(values)))
        return self.head(state)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.autograd.set_detect_anomaly(True)

    sequences = torch.rand(30720, 3, 2, device=device)
    sums = sequences.prod(dim=2).sum(dim=1, keepdim=True)
    model = Adder(width=64).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    criterion = nn.MSELoss()

    started = time.perf_counter()
    for step in range(STEPS):
        rows = slice(step * 1536 % 30720, step * 1536 % 30720 + 1536)
        optimizer.zero_grad()
        loss = criterion(model(sequences[rows]), sums[rows])
        loss.backward()
        optimizer.step()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
