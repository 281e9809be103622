"""HW4: word-level RNN language model from scratch (no nn.LSTM allowed)."""
import collections
import math
import random
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

HP = {"vocab": 2000, "hidden": 128, "seq": 20, "batch": 24, "epochs": 8, "lr": 2e-3, "clip": 1.0, "sentences": 3000}


def build_text(n, seed=0):
    r = random.Random(seed)
    nouns = [f"n{i}" for i in range(900)]
    verbs = [f"v{i}" for i in range(500)]
    adjs = [f"a{i}" for i in range(700)]
    zipf = lambda xs: xs[min(int(r.paretovariate(0.6)) - 1, len(xs) - 1)]
    words = []
    for _ in range(n):
        words += ["the", zipf(adjs), zipf(nouns), zipf(verbs), "a", zipf(nouns), r.choice(["quickly", "again", "today"]), "."]
    return words


class Vocab:
    def __init__(self, words, size):
        common = collections.Counter(words).most_common(size - 1)
        self.w2i = {w: i + 1 for i, (w, _) in enumerate(common)}
        self.size = size

    def encode(self, words):
        return torch.tensor([self.w2i.get(w, 0) for w in words])


class RNNCell(nn.Module):
    """LSTM equations as on slide 31"""

    def __init__(self, n_in, n_hid):
        super().__init__()
        self.W = nn.Parameter(torch.randn(n_in, 4 * n_hid) / math.sqrt(n_hid))
        self.U = nn.Parameter(torch.randn(n_hid, 4 * n_hid) / math.sqrt(n_hid))
        self.b = nn.Parameter(torch.zeros(4 * n_hid))

    def forward(self, x, h, c):
        i, f, g, o = (x @ self.W + h @ self.U + self.b).chunk(4, dim=1)
        c = torch.sigmoid(f + 1) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c


class LanguageModel(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.vocab, self.hidden = vocab, hidden
        self.cell = RNNCell(vocab, hidden)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, ids, state=None):
        x = F.one_hot(ids, num_classes=self.vocab).float()
        h, c = state or (torch.zeros(ids.size(0), self.hidden), torch.zeros(ids.size(0), self.hidden))
        hs = []
        for t in range(ids.size(1)):
            h, c = self.cell(x[:, t], h, c)
            hs.append(h)
        return self.out(torch.stack(hs, 1)), (h.detach(), c.detach())


def batchify(ids, batch, seq):
    n = (len(ids) - 1) // (batch * seq) * seq
    xs = ids[: n * batch].view(batch, n)
    ys = ids[1 : n * batch + 1].view(batch, n)
    return [(xs[:, i : i + seq], ys[:, i : i + seq]) for i in range(0, n, seq)]


def main():
    torch.manual_seed(4)
    words = build_text(HP["sentences"])
    vocab = Vocab(words, HP["vocab"])
    batches = batchify(vocab.encode(words), HP["batch"], HP["seq"])
    held = batchify(vocab.encode(build_text(300, seed=9)), HP["batch"], HP["seq"])
    model = LanguageModel(vocab.size, HP["hidden"])
    opt = torch.optim.Adam(model.parameters(), lr=HP["lr"])
    for epoch in range(HP["epochs"]):
        state, tot, t0 = None, 0.0, time.time()
        for x, y in batches:
            logits, state = model(x, state)
            loss = F.cross_entropy(logits.reshape(-1, vocab.size), y.reshape(-1))
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), HP["clip"])
            opt.step()
            tot += loss.item()
        with torch.no_grad():
            state, ev = None, 0.0
            for x, y in held:
                logits, state = model(x, state)
                ev += F.cross_entropy(logits.reshape(-1, vocab.size), y.reshape(-1)).item()
        print(f"epoch {epoch} ppl {math.exp(tot / len(batches)):.1f} held-out {math.exp(ev / len(held)):.1f} {time.time() - t0:.1f}s")


if __name__ == "__main__":
    main()
