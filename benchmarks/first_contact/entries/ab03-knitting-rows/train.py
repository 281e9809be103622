"""Learn to write knitting patterns, one character after the other."""
import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

from decoder import PatternDecoder


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--text", default="patterns.txt")
    p.add_argument("--context", type=int, default=128)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--epochs", type=int, default=25)
    p.add_argument("--steps-per-epoch", type=int, default=24)
    p.add_argument("--val-windows", type=int, default=16)
    p.add_argument("--lr", type=float, default=6e-4)
    p.add_argument("--seed", type=int, default=3)
    return p.parse_args()


class Corpus:
    def __init__(self, path, context):
        with open(path) as f:
            text = f.read()
        self.symbols = sorted(set(text))
        code = {c: i for i, c in enumerate(self.symbols)}
        ids = torch.tensor([code[c] for c in text])
        cut = int(0.95 * len(ids))
        self.train, self.val = ids[:cut], ids[cut:]
        self.window = torch.arange(context + 1)

    def windows(self, ids, starts):
        chunk = ids[starts[:, None] + self.window]
        return chunk[:, :-1], chunk[:, 1:]

    def batch(self, size):
        return self.windows(self.train, torch.randint(len(self.train) - len(self.window), (size,)))

    def validation(self, count):
        return self.windows(self.val, torch.linspace(0, len(self.val) - len(self.window) - 1, count).long())

    def decode(self, ids):
        return "".join(self.symbols[i] for i in ids)


@torch.inference_mode()
def validate(model, x, y):
    model.eval()
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    model.train()
    return loss.item()


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    corpus = Corpus(args.text, args.context)
    val_x, val_y = corpus.validation(args.val_windows)
    model = PatternDecoder(len(corpus.symbols), args.context)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.98), weight_decay=0.05, fused=True)
    total = args.epochs * args.steps_per_epoch
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=total, pct_start=0.1)
    print(f"{len(corpus.train)} characters of {len(corpus.symbols)} kinds, "
          f"{sum(p.numel() for p in model.parameters())} parameters")

    for epoch in range(args.epochs):
        began = time.time()
        running = torch.zeros(())
        for _ in range(args.steps_per_epoch):
            x, y = corpus.batch(args.batch_size)
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            running += loss.detach()
        print(f"epoch {epoch:2d} train {running.item() / args.steps_per_epoch:.3f} "
              f"val {validate(model, val_x, val_y):.3f} {time.time() - began:.1f}s", flush=True)

    torch.save({"model": model.state_dict(), "symbols": corpus.symbols}, "knitting.pt")
    model.eval()
    print(corpus.decode(model.write(val_x[:1, :16], 160)[0].tolist()))


if __name__ == "__main__":
    main()
