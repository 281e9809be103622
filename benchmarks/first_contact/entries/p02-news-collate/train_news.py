#!/usr/bin/env python
"""Topic classifier for news lines (bag of embeddings + small transformer)."""
import argparse
import re
import string
import random

import torch
from torch import nn
from torch.utils.data import DataLoader

WORDS = ["".join(random.Random(i).choices(string.ascii_lowercase, k=3 + i % 7)) for i in range(4000)]
TOKEN = r"[a-z]+|[0-9]+|[^\sa-z0-9]"


def make_corpus(n, seed=0):
    r = random.Random(seed)
    out = []
    for _ in range(n):
        k = r.randint(180, 320)
        ws = [r.choice(WORDS) for _ in range(k)]
        for j in range(0, k, 9):
            ws[j] = ws[j].capitalize() + r.choice([",", ".", " -", "'s", "!"])
        out.append((" ".join(ws) + " http://t.co/x%d <br/>" % r.randint(0, 9999), r.randint(0, 3)))
    return out


def clean(text):
    text = text.lower()
    text = re.sub(r"https?://\S+", " ", text)
    text = re.sub(r"<[^>]+>", " ", text)
    text = re.sub(r"(\w)'s\b", r"\1", text)
    text = re.sub(r"[%s]" % re.escape(string.punctuation), " ", text)
    return re.sub(r"\s+", " ", text).strip()


def tokenize(text):
    return re.findall(TOKEN, clean(text))


class Collate:
    def __init__(self, vocab, max_len=64):
        self.vocab, self.max_len = vocab, max_len

    def __call__(self, batch):
        ids = torch.zeros(len(batch), self.max_len, dtype=torch.long)
        ys = torch.tensor([y for _, y in batch])
        for i, (text, _) in enumerate(batch):
            toks = [self.vocab.get(t, 1) for t in tokenize(text)][: self.max_len]
            ids[i, : len(toks)] = torch.tensor(toks)
        return ids, ys


class Classifier(nn.Module):
    def __init__(self, n_vocab, d=48, classes=4):
        super().__init__()
        self.emb = nn.Embedding(n_vocab, d, padding_idx=0)
        self.enc = nn.TransformerEncoderLayer(d, 4, 96, batch_first=True, dropout=0.1)
        self.out = nn.Linear(d, classes)

    def forward(self, ids):
        mask = ids == 0
        h = self.enc(self.emb(ids), src_key_padding_mask=mask)
        h = h.masked_fill(mask.unsqueeze(-1), 0).sum(1) / (~mask).sum(1, keepdim=True)
        return self.out(h)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--bs", type=int, default=32)
    a = p.parse_args()
    torch.manual_seed(1)
    data = make_corpus(32 * 80)
    vocab = {w: i + 2 for i, w in enumerate(WORDS)}
    loader = DataLoader(data, batch_size=a.bs, shuffle=True, collate_fn=Collate(vocab))
    net = Classifier(len(WORDS) + 2)
    optim = torch.optim.Adam(net.parameters(), lr=3e-4)
    crit = nn.CrossEntropyLoss()
    for ep in range(a.epochs):
        running = 0.0
        for step, (ids, y) in enumerate(loader):
            optim.zero_grad()
            loss = crit(net(ids), y)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optim.step()
            running += loss.item()
            if step % 20 == 19:
                print("ep %d step %d loss %.3f" % (ep, step, running / 20))
                running = 0.0
