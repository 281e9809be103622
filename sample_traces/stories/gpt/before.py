"""Train a small GPT on a text, to foretell the next piece of a word: about 220 million weights on a GPU, a toy on a CPU."""

import math
import random
import re
import time

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
LAYERS, WIDTH, HEADS, CONTEXT, WORDS = (12, 1024, 16, 1024, 32_000) if CUDA else (2, 64, 4, 64, 500)
BATCH, STEPS, ROWS = (8, 400, 4000) if CUDA else (4, 600, 4000)


def made_up_text(words):
    """So that there is nothing to download: words drawn by Zipf's law, with commas and full stops."""
    draw = random.Random(0)
    vocabulary = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9))) for _ in range(2 * WORDS)]
    vocabulary = list(dict.fromkeys(vocabulary))[: WORDS - 3]
    weights = [1 / (rank + 2) for rank in range(len(vocabulary))]
    return " ".join(word + draw.choices(("", ",", "."), (18, 1, 1))[0] for word in draw.choices(vocabulary, weights, k=words))


class Passages(Dataset):
    """Passages of the text, each as the numbers of its pieces of words and those of the pieces that follow."""

    def __init__(self, text):
        self.text = text
        self.starts = [found.start() for found in re.finditer(r"\w+", text)]
        words = set(re.findall(r"\w+", text))
        pieces = sorted({word[:length] for word in words for length in (2, 3, 4)})
        self.numbers = {piece: number for number, piece in enumerate([*"abcdefghijklmnopqrstuvwxyz,.", *pieces][:WORDS])}

    def __len__(self):
        return ROWS

    def __getitem__(self, row):
        start = self.starts[row * 997 % (len(self.starts) - 2 * CONTEXT)]
        words = re.findall(r"\w+|[.,]", self.text[start : start + 12 * CONTEXT].lower())
        numbers = [number for word in words for number in self.pieces(word)][: CONTEXT + 1]
        return torch.tensor(numbers[:-1]), torch.tensor(numbers[1:])

    def pieces(self, word):
        """The numbers of the longest pieces that the word is made of."""
        numbers = []
        while word:
            end = next(end for end in range(len(word), 0, -1) if word[:end] in self.numbers)
            numbers.append(self.numbers[word[:end]])
            word = word[end:]
        return numbers


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, hidden):
        batch, length, _ = hidden.shape
        q, k, v = self.qkv(hidden).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        mask = torch.ones(length, length, dtype=torch.bool).tril().to(hidden.device)
        scores = scores.masked_fill(~mask, float("-inf"))
        mixed = scores.softmax(dim=-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, hidden):
        hidden = hidden + self.attention(self.norm1(hidden))
        return hidden + self.mlp(self.norm2(hidden))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, words):
        hidden = self.words(words) + self.places(torch.arange(words.size(1)).to(words.device))
        for block in self.blocks:
            hidden = block(hidden)
        return self.head(self.norm(hidden))


def main():
    torch.manual_seed(0)
    loader = DataLoader(Passages(made_up_text(40 * CONTEXT)), batch_size=BATCH, shuffle=True, drop_last=True)
    model = GPT().to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, foreach=False)

    total, norms = 0.0, []
    started, step = time.perf_counter(), 0
    for words, targets in loader:
        words, targets = words.to(DEVICE), targets.to(DEVICE)
        logits = model(words)
        loss = F.cross_entropy(logits.view(-1, WORDS), targets.view(-1))
        optimizer.zero_grad()
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0).item())
        optimizer.step()
        total += loss.item()
        step += 1
        if step == STEPS:
            break
    elapsed = time.perf_counter() - started

    size = sum(parameter.numel() for parameter in model.parameters())
    print(f"{size:,} weights, {step} steps, {1000 * elapsed / step:.1f} ms a step, loss {total / step:.4f}, norm {max(norms):.2f}")


if __name__ == "__main__":
    main()
