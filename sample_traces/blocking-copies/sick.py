"""Fit an autoencoder to readings, and count the words of the notes that come with them."""

import time
from collections import Counter

import torch
from torch import nn

CUDA = torch.cuda.is_available()
STEPS, BATCH, WIDTH = (150, 8192, 4096) if CUDA else (6, 16, 32)  # on a CPU just enough to see that it runs
WORDS = 4 * BATCH


def main():
    torch.manual_seed(0)
    device = "cuda" if CUDA else "cpu"

    readings = torch.empty(8 * BATCH, WIDTH, pin_memory=CUDA)
    for part in readings.split(BATCH):  # a GPU draws them sooner
        part.copy_(torch.randn(part.shape, device=device))
    words = [f"word {number}" for number in torch.randint(500, (8 * WORDS,)).tolist()]
    seen = Counter()
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    criterion = nn.MSELoss()

    started = time.perf_counter()
    for step in range(STEPS):
        batch = readings[step % 8 * BATCH :][:BATCH].to(device)
        seen.update(words[step % 8 * WORDS :][:WORDS])
        with torch.autocast(device, torch.bfloat16):
            loss = criterion(model(batch), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    last = loss.item()
    elapsed = time.perf_counter() - started

    print("commonest words", *(word for word, _ in seen.most_common(3)), sep=", ")
    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {last:.4f}")


if __name__ == "__main__":
    main()
