import argparse
import itertools
import json
import time

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from drums.net import DrumNet
from drums.stream import SPECIES, Archive, RollStream


class Confusion:
    def __init__(self, kinds):
        self.kinds = kinds
        self.table = torch.zeros(kinds, kinds, dtype=torch.long)

    def add(self, score, kind):
        cell = kind * self.kinds + score.argmax(1)
        self.table += torch.bincount(cell, minlength=self.kinds ** 2).view(self.kinds, self.kinds)

    def balanced(self):
        right = self.table.diagonal() / self.table.sum(1).clamp(min=1)
        return right.mean().item()


def evaluate(net, archive, count, batch):
    net.eval()
    seen = Confusion(len(SPECIES))
    loader = DataLoader(RollStream(archive, seed=99, gain=0.0), batch_size=batch)
    with torch.no_grad():
        for envelope, kind in itertools.islice(loader, count):
            seen.add(net(envelope), kind)
    net.train()
    return seen.balanced()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--recordings", type=int, default=400)
    p.add_argument("--seconds", type=int, default=20)
    p.add_argument("--snippets", type=int, default=90000)
    p.add_argument("--length", type=int, default=1500)
    p.add_argument("--batch", type=int, default=16)
    p.add_argument("--steps", type=int, default=800)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--eval-every", type=int, default=200)
    p.add_argument("--history", default="history.jsonl")
    args = p.parse_args()

    torch.manual_seed(7)
    archive = Archive(args.recordings, args.seconds, args.snippets, args.length, seed=7)
    held_out = Archive(60, args.seconds, 2000, args.length, seed=8)
    loader = DataLoader(RollStream(archive, seed=7), batch_size=args.batch)
    net = DrumNet(len(SPECIES), args.length)
    slow = [q for n, q in net.named_parameters() if n.endswith(("decay", "pitch"))]
    rest = [q for n, q in net.named_parameters() if not n.endswith(("decay", "pitch"))]
    optimizer = torch.optim.AdamW([
        {"params": slow, "lr": args.lr / 10, "weight_decay": 0.0},
        {"params": rest, "lr": args.lr, "weight_decay": 0.02},
    ])
    history = open(args.history, "w")
    seen = Confusion(len(SPECIES))
    began = time.time()
    for step, (envelope, kind) in enumerate(itertools.islice(loader, args.steps), 1):
        score = net(envelope)
        loss = F.cross_entropy(score, kind, label_smoothing=0.05)
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        seen.add(score.detach(), kind)
        history.write(json.dumps({"step": step, "loss": loss.item(), "norm": norm.item()}) + "\n")
        history.flush()
        if step % 20 == 0:
            print(f"{step:5d} {loss.item():.4f} balanced {seen.balanced():.3f} {time.time() - began:.0f} s", flush=True)
            seen = Confusion(len(SPECIES))
        if step % args.eval_every == 0:
            print(f"{step:5d} held out: balanced {evaluate(net, held_out, 12, args.batch):.3f}", flush=True)
            torch.save(net.state_dict(), "drums.pt")
    history.close()


if __name__ == "__main__":
    main()
