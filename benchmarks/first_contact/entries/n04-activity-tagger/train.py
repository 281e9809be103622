"""Labels every frame of an accelerometer window with the activity going on."""
import argparse
import os
import tempfile

import torch
from torch import nn
from torch.nn import functional as F

from cells import Tagger
from data import Windows


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--epochs", type=int, default=12)
    p.add_argument("--train-windows", type=int, default=4096)
    p.add_argument("--valid-windows", type=int, default=512)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--length", type=int, default=40)
    p.add_argument("--channels", type=int, default=6)
    p.add_argument("--classes", type=int, default=8)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--smoothing", type=float, default=0.05)
    p.add_argument("--seed", type=int, default=2)
    p.add_argument("--out", default=os.path.join(tempfile.gettempdir(), "activity.pt"))
    return p.parse_args()


class Confusion:
    def __init__(self, classes):
        self.classes = classes
        self.table = torch.zeros(classes * classes, dtype=torch.long)

    def add(self, guess, labels):
        self.table += torch.bincount(labels.flatten() * self.classes + guess.flatten(),
                                     minlength=self.classes ** 2)

    def macro_f1(self):
        table = self.table.view(self.classes, self.classes).double()
        hit = table.diagonal()
        return (2 * hit / (table.sum(0) + table.sum(1)).clamp_min(1)).mean().item()

    def accuracy(self):
        table = self.table.view(self.classes, self.classes)
        return table.diagonal().sum().item() / table.sum().item()


@torch.inference_mode()
def evaluate(model, data, classes):
    model.eval()
    confusion = Confusion(classes)
    for signal, labels in data.batches(shuffle=False):
        confusion.add(model(signal).argmax(-1), labels)
    model.train()
    return confusion.accuracy(), confusion.macro_f1()


def main():
    args = parse()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    train, valid = Windows(args.train_windows, args, args.seed), Windows(args.valid_windows, args, args.seed + 1)
    model = Tagger(args.channels, args.classes)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.epochs * len(train))
    best, step = 0.0, 0
    for epoch in range(args.epochs):
        total = torch.zeros(())
        for signal, labels in train.batches():
            scores = model(signal)
            loss = F.cross_entropy(scores.flatten(0, 1), labels.flatten(), label_smoothing=args.smoothing)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            total += loss.detach()
            step += 1
            if step % 25 == 0:
                print(f"  step {step:4d}  loss {loss.item():.4f}")
        accuracy, f1 = evaluate(model, valid, args.classes)
        print(f"epoch {epoch + 1:2d}  loss {total.item() / len(train):.4f}  accuracy {accuracy:.4f}  macro F1 {f1:.4f}")
        if f1 > best:
            best = f1
            torch.save(model.state_dict(), args.out)
    print(f"best macro F1 {best:.4f}")


if __name__ == "__main__":
    main()
