"""Tell from the words of a text whom it is about, with a look at how varied the texts of a batch are."""

import time
from collections import Counter

import torch
from torch import nn

STEPS = 150
TEXTS = 96


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    words = (torch.rand(TEXTS * 10, 256) ** 3 * 512).long()
    texts = [" ".join(f"w{word}" for word in row) for row in words.tolist()]
    counts = torch.zeros(len(texts), 512).scatter_add_(1, words, torch.ones(words.shape)).to(device)
    persons = (counts[:, :64] @ torch.randn(64, 10, device=device)).argmax(dim=1)
    model = nn.Sequential(nn.Linear(512, 640), nn.ReLU(), nn.Linear(640, 640), nn.ReLU(), nn.Linear(640, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    variety = []

    started = time.perf_counter()
    for step in range(STEPS):
        rows = slice(step % 10 * TEXTS, step % 10 * TEXTS + TEXTS)
        optimizer.zero_grad()
        loss = criterion(model(counts[rows]), persons[rows])
        loss.backward()
        optimizer.step()
        variety.append(len(Counter(" ".join(texts[rows]).split())))
    elapsed = time.perf_counter() - started

    print(f"{variety[0]} different words in the first batch")
    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
