"""Learns to figure an unfigured bass from the realised parts above it."""
import argparse
import csv
import random
import time

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from data import FIGURES, PAD, Continuo, collate
from model import FiguredBass
from score import figure_errors


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpus", default="corpus")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--smoothing", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=4)
    return parser.parse_args()


def evaluate(model, loader):
    model.eval()
    edits, figures = 0, 0
    for rolls, lengths, printed in loader:
        wrong, count = figure_errors(model.realise(rolls, lengths), printed[:, 1:])
        edits += wrong
        figures += count
    model.train()
    return edits / figures


def main():
    args = arguments()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    train = DataLoader(Continuo(f"{args.corpus}/train.jsonl", transpose=3), args.batch, shuffle=True,
                       collate_fn=collate, drop_last=True)
    dev = DataLoader(Continuo(f"{args.corpus}/dev.jsonl"), 80, collate_fn=collate)
    model = FiguredBass()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.epochs * len(train))
    best = 1.0

    with open("log.csv", "w", newline="") as file:
        log = csv.writer(file)
        log.writerow(["step", "loss", "figure_error_rate", "norm"])
        step = 0
        for epoch in range(args.epochs):
            began = time.time()
            total = 0.0
            for rolls, lengths, figures in train:
                target = figures[:, 1:]
                logits = model(rolls, lengths, figures[:, :-1])
                loss = F.cross_entropy(logits.reshape(-1, len(FIGURES)), target.reshape(-1), ignore_index=PAD,
                                       label_smoothing=args.smoothing)
                optimizer.zero_grad()
                loss.backward()
                norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()

                edits, count = figure_errors(logits.argmax(dim=-1), target)
                total += loss.item()
                step += 1
                log.writerow([step, f"{loss.item():.4f}", f"{edits / count:.4f}", f"{norm.item():.3f}"])
            print(f"epoch {epoch + 1:2d}  loss {total / len(train):.4f}  {time.time() - began:.1f} s", flush=True)

            if (epoch + 1) % 3 == 0:
                rate = evaluate(model, dev)
                print(f"          dev figure error rate {rate:.3f}", flush=True)
                if rate < best:
                    best = rate
                    torch.save(model.state_dict(), "best.pt")


if __name__ == "__main__":
    main()
