"""Train an intent classifier on top of a (pretrained) sentence encoder."""
import argparse
import os

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Encoder(nn.Module):
    def __init__(self, vocab=3000, d=128, heads=4, layers=3, max_len=64):
        super().__init__()
        self.tok = nn.Embedding(vocab, d)
        self.pos = nn.Parameter(torch.randn(max_len, d) * 0.02)
        layer = nn.TransformerEncoderLayer(d, heads, 4 * d, dropout=0.0, activation="gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.ln = nn.LayerNorm(d)

    def forward(self, ids):
        return self.ln(self.layers(self.tok(ids) + self.pos[: ids.size(1)]))[:, 0]


def load_pretrained(path):
    enc = Encoder()
    if not os.path.exists(path):
        torch.manual_seed(42)
        torch.save(Encoder().state_dict(), path)
    enc.load_state_dict(torch.load(path))
    return enc


class IntentModel(nn.Module):
    def __init__(self, encoder, n_intents):
        super().__init__()
        self.encoder = encoder
        self.head = nn.Sequential(nn.Linear(128, 128), nn.Tanh(), nn.Dropout(0.1), nn.Linear(128, n_intents))

    def forward(self, ids):
        return self.head(self.encoder(ids))


def evaluate(model, loader):
    model.eval()
    hit = n = 0
    with torch.inference_mode():
        for ids, y in loader:
            hit += (model(ids).argmax(-1) == y).sum().item()
            n += len(y)
    model.train()
    return hit / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=2)
    ap.add_argument("--batch_size", type=int, default=16)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--ckpt", default="/tmp/p10_encoder.pt")
    args = ap.parse_args()
    torch.manual_seed(0)
    ids, y = torch.randint(0, 3000, (16 * 60, 32)), torch.randint(0, 20, (16 * 60,))
    train = DataLoader(TensorDataset(ids, y), args.batch_size, shuffle=True)
    dev = DataLoader(TensorDataset(ids[:64], y[:64]), 32)
    model = IntentModel(load_pretrained(args.ckpt), 20)
    optimizer = torch.optim.Adam(model.head.parameters(), lr=args.lr)
    loss_fn = nn.CrossEntropyLoss(label_smoothing=0.1)
    for epoch in range(args.epochs):
        for i, (b, t) in enumerate(train):
            optimizer.zero_grad()
            loss = loss_fn(model(b), t)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.head.parameters(), 1.0)
            optimizer.step()
            if (i + 1) % 20 == 0:
                print(f"epoch {epoch} batch {i + 1}/{len(train)} loss {loss.item():.3f}")
        print(f"epoch {epoch} dev acc {evaluate(model, dev):.3f}")


if __name__ == "__main__":
    main()
