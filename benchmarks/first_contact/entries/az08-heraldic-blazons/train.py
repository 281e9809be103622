import argparse
import random

import torch
from torch import nn
from torch.utils.data import DataLoader

from bert import Bert, MaskedLanguageModel
from blazons import PAD, MaskedBlazons, Vocabulary, write_blazons


class WarmupSchedule:
    def __init__(self, optimizer, dim, warmup):
        self.optimizer, self.warmup, self.count = optimizer, warmup, 0
        self.base = dim ** -0.5

    def step(self):
        self.count += 1
        lr = self.base * min(self.count ** -0.5, self.count * self.warmup ** -1.5)
        for group in self.optimizer.param_groups:
            group["lr"] = lr


def run_epoch(model, loader, criterion, optimizer=None, schedule=None, log_freq=20):
    train = optimizer is not None
    model.train(train)
    total, correct, elements = 0.0, 0, 0
    with torch.set_grad_enabled(train):
        for i, (tokens, labels) in enumerate(loader):
            logits = model(tokens)
            loss = criterion(logits.view(-1, logits.size(-1)), labels.view(-1))
            if train:
                schedule.step()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            picked = labels != PAD
            correct += (logits.argmax(dim=-1)[picked] == labels[picked]).sum().item()
            elements += picked.sum().item()
            total += loss.item()
            if train and i % log_freq == 0:
                print(f"  {i:4d} loss {loss.item():.4f} mean {total / (i + 1):.4f} accuracy {100 * correct / max(elements, 1):.2f}", flush=True)
    return total / len(loader), correct / max(elements, 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--blazons", type=int, default=4000)
    parser.add_argument("--max_len", type=int, default=96)
    parser.add_argument("--batch_size", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=800)
    parser.add_argument("--seed", type=int, default=21)
    parser.add_argument("--output", default="blazon_bert.pt")
    args = parser.parse_args()

    random.seed(args.seed)
    torch.manual_seed(args.seed)
    vocabulary = Vocabulary()
    texts = write_blazons(args.blazons + 400, args.seed)
    train = DataLoader(MaskedBlazons(texts[400:], vocabulary, args.max_len), args.batch_size, shuffle=True, drop_last=True)
    test = DataLoader(MaskedBlazons(texts[:400], vocabulary, args.max_len), args.batch_size)
    model = MaskedLanguageModel(Bert(len(vocabulary), args.max_len), len(vocabulary))
    print("parameters:", sum(p.numel() for p in model.parameters()))
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98))
    schedule = WarmupSchedule(optimizer, 128, args.warmup)
    for epoch in range(args.epochs):
        loss, accuracy = run_epoch(model, train, criterion, optimizer, schedule)
        print(f"epoch {epoch} train loss {loss:.4f} accuracy {accuracy:.4f}", flush=True)
        with torch.random.fork_rng():
            loss, accuracy = run_epoch(model, test, criterion)
        print(f"epoch {epoch} test loss {loss:.4f} accuracy {accuracy:.4f}", flush=True)
        torch.save(model.state_dict(), f"{args.output}.ep{epoch}")


if __name__ == "__main__":
    main()
