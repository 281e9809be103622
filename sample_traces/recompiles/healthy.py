"""Train a compiled tagger on sentences of many lengths."""

import time

import torch
from torch import nn

STEPS = 100


class Tagger(nn.Module):
    def __init__(self, words, width, tags):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.mix = nn.Sequential(nn.Linear(2 * width, 128), nn.GELU(), nn.Linear(128, width))
        self.head = nn.Linear(width, tags)

    def forward(self, sentences):
        words = self.embed(sentences)
        context = torch.cat([words, words.cumsum(dim=1)], dim=2)
        return self.head(words + self.mix(context))


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    torch._dynamo.config.recompile_limit = STEPS
    lengths = (20 + torch.randperm(STEPS)).tolist()
    batches = [torch.randint(500, (32, length), device=device) for length in lengths]
    model = Tagger(words=500, width=64, tags=8).to(device)
    compiled = torch.compile(model, backend="eager", dynamic=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    criterion = nn.CrossEntropyLoss()

    started = time.perf_counter()
    for batch in batches:
        optimizer.zero_grad()
        loss = criterion(compiled(batch).flatten(0, 1), batch.flatten() % 8)
        loss.backward()
        optimizer.step()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
