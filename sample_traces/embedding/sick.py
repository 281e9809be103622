"""Learn to tell what a short text is about from the words in it."""

import time

import torch
from torch import nn

STEPS = 150


class Topics(nn.Module):
    def __init__(self, words, topics):
        super().__init__()
        self.embed = nn.Embedding(words, 32)
        self.head = nn.Sequential(nn.Linear(32, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, topics))

    def forward(self, texts):
        words = self.embed(texts)
        return self.head(words.mean(dim=1))


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    texts = (torch.rand(15360, 16, device=device).square() * 100_000).long()
    labels = texts[:, 0] % 5
    model = Topics(words=100_000, topics=5).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    criterion = nn.CrossEntropyLoss()

    started = time.perf_counter()
    for step in range(STEPS):
        rows = slice(step * 512 % 15360, step * 512 % 15360 + 512)
        optimizer.zero_grad()
        loss = criterion(model(texts[rows]), labels[rows])
        loss.backward()
        optimizer.step()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
