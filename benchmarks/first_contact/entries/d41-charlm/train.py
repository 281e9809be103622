"""Character-level LSTM language model with stateful truncated BPTT."""
import argparse
import math
import os
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def make_text(n, seed=7):
    """A little Markov source over 48 symbols, good enough to have something to learn."""
    rng = np.random.default_rng(seed)
    nxt = rng.integers(0, 48, size=(48, 6))
    choice = rng.choice(6, size=n, p=[0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
    out = np.empty(n, dtype=np.int64)
    c = 0
    for i, k in enumerate(choice.tolist()):
        c = nxt[c, k]
        out[i] = c
    return torch.from_numpy(out)


class CharLM(nn.Module):
    def __init__(self, vocab, dim, hidden, layers, dropout):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.LSTM(dim, hidden, layers, batch_first=True, dropout=dropout)
        self.drop = nn.Dropout(dropout)
        self.head = nn.Linear(hidden, vocab)

    def forward(self, x, state=None):
        y, state = self.rnn(self.embed(x), state)
        return self.head(self.drop(y)), state


def batchify(text, batch_size):
    n = text.numel() // batch_size
    return text[: n * batch_size].view(batch_size, n)


@torch.no_grad()
def evaluate(model, data, bptt):
    model.eval()
    total, count, state = 0.0, 0, None
    for i in range(0, data.size(1) - 1, bptt):
        x = data[:, i:i + bptt]
        y = data[:, i + 1:i + 1 + bptt]
        x = x[:, : y.size(1)]
        logits, state = model(x, state)
        total += F.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum").item()
        count += y.numel()
    model.train()
    return total / count


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--bptt", type=int, default=32)
    p.add_argument("--hidden", type=int, default=128)
    p.add_argument("--layers", type=int, default=2)
    p.add_argument("--clip", type=float, default=0.5)
    p.add_argument("--log-every", type=int, default=100)
    p.add_argument("--out", default="charlm.pt")
    args = p.parse_args()

    torch.manual_seed(1)
    text = make_text(300_000)
    train = batchify(text[:285_000], args.batch_size)
    valid = batchify(text[285_000:], args.batch_size)

    model = CharLM(48, 64, args.hidden, args.layers, 0.2)
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    steps = (train.size(1) - 1) // args.bptt
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, 4e-3, total_steps=steps * args.epochs)

    best = math.inf
    for epoch in range(args.epochs):
        state, t0 = None, time.time()
        running = torch.zeros(())
        for step in range(steps):
            i = step * args.bptt
            x = train[:, i:i + args.bptt]
            y = train[:, i + 1:i + 1 + args.bptt]
            if state is not None:
                state = tuple(s.detach() for s in state)
            logits, state = model(x, state)
            loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            opt.step()
            sched.step()
            running += loss.detach()
            if (step + 1) % args.log_every == 0:
                print(f"epoch {epoch} step {step + 1}/{steps} loss {running.item() / args.log_every:.3f} "
                      f"lr {sched.get_last_lr()[0]:.2e} {time.time() - t0:.1f}s")
                running.zero_()
        val = evaluate(model, valid, args.bptt)
        print(f"epoch {epoch} valid {val:.4f} ppl {math.exp(val):.2f}")
        if val < best:
            best = val
            torch.save(model.state_dict(), args.out + ".tmp")
            os.replace(args.out + ".tmp", args.out)


if __name__ == "__main__":
    main()
