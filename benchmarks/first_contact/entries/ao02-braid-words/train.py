"""Masked-letter pretraining on braid words, with two invariants of the closure as side tasks."""
import argparse
import random
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

import braids

VOCABULARY = 2 + 2 * braids.GENERATORS


class BraidReader(nn.Module):
    def __init__(self, width, layers):
        super().__init__()
        self.letters = nn.Embedding(VOCABULARY, width, padding_idx=braids.PAD)
        self.phrases = nn.Embedding(braids.TRIGRAMS, width, max_norm=1.0)
        self.mix = nn.Linear(2 * width, width)
        self.convs = nn.ModuleList(nn.Conv1d(width, width, 3, padding=2 ** i, dilation=2 ** i) for i in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        self.letter_head = nn.Linear(width, VOCABULARY)
        self.writhe_head = nn.Linear(width, 1)
        self.closed_head = nn.Linear(width, braids.STRANDS)

    def forward(self, shown):
        x = self.mix(torch.cat([self.letters(shown), self.phrases(braids.trigrams(shown))], dim=-1))
        for conv, norm in zip(self.convs, self.norms):
            x = norm(x + F.gelu(conv(x.transpose(1, 2))).transpose(1, 2))
        pooled = x.mean(dim=1)
        return x, self.writhe_head(pooled).squeeze(-1), self.closed_head(pooled)


class Trainer:
    def __init__(self, args):
        self.args = args
        self.rng = random.Random(args.seed)
        torch.manual_seed(args.seed)
        words, writhe, closed = braids.make(args.words + args.held, args.length, args.seed)
        self.data = [t[: args.words] for t in (words, writhe, closed)]
        self.held = [t[args.words:] for t in (words, writhe, closed)]
        self.model = BraidReader(args.width, args.layers)
        self.optimizer = torch.optim.RAdam(self.model.parameters(), lr=args.lr, foreach=True)

    def losses(self, words, writhe, closed):
        shown, wanted = braids.hide(words, self.args.rate, self.rng, VOCABULARY)
        states, writhe_guess, closed_guess = self.model(shown)
        chosen = wanted != -100
        letters = F.cross_entropy(self.model.letter_head(states[chosen]), wanted[chosen])
        return letters, F.smooth_l1_loss(writhe_guess, writhe), F.cross_entropy(closed_guess, closed)

    def epoch(self):
        summed = torch.zeros(3)
        parts = torch.randperm(self.args.words).split(self.args.batch)
        for rows in parts:
            pieces = self.losses(*(t[rows] for t in self.data))
            loss = pieces[0] + self.args.side * (pieces[1] + pieces[2])
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_value_(self.model.parameters(), 0.5)
            self.optimizer.step()
            summed += torch.stack(pieces).detach()
        return summed / len(parts)

    @torch.no_grad()
    def check(self):
        self.model.eval()
        right, off = 0, 0.0
        for words, writhe, closed in zip(*(t.split(200) for t in self.held)):
            _, writhe_guess, closed_guess = self.model(words)
            right += (closed_guess.argmax(-1) == closed).sum().item()
            off += (writhe_guess - writhe).abs().sum().item()
        self.model.train()
        return right / self.args.held, off / self.args.held

    def run(self):
        for number in range(self.args.epochs):
            start = time.time()
            letters, writhe, closed = self.epoch().tolist()
            right, off = self.check()
            print(f"{number:3d}  letters {letters:.3f}  writhe {writhe:.4f}  closed {closed:.3f}  |  "
                  f"held: components {right:.1%}, writhe off {off:.3f}  ({time.time() - start:.1f}s)", flush=True)
        torch.save(self.model.state_dict(), "braids.pt")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--words", type=int, default=2400)
    parser.add_argument("--held", type=int, default=400)
    parser.add_argument("--length", type=int, default=80)
    parser.add_argument("--batch", type=int, default=40)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=22)
    parser.add_argument("--rate", type=float, default=0.15)
    parser.add_argument("--side", type=float, default=0.3)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=4)
    Trainer(parser.parse_args()).run()
