"""Spiking classifier of odours from a gas sensor array."""
import argparse
import time

import torch
import torch.nn as nn
from torch.utils.data import DataLoader

from nose_data import NoseDataset
from spiking import SpikingNet


def get_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=28)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--hidden", type=int, default=96)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--threshold", type=float, default=0.05)
    parser.add_argument("--rate-penalty", type=float, default=0.5)
    parser.add_argument("--max-rate", type=float, default=0.2)
    parser.add_argument("--log-every", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def rate_loss(spikes, max_rate):
    total = 0.0
    for s in spikes:
        rate = s.mean(dim=(0, 1))
        total = total + torch.relu(rate - max_rate).pow(2).mean()
    return total


def evaluate(model, loader, criterion):
    model.eval()
    loss, correct, n = 0.0, 0, 0
    with torch.no_grad():
        for x, y in loader:
            logits, _ = model(x)
            loss += criterion(logits, y).item() * len(y)
            correct += (logits.argmax(dim=1) == y).sum().item()
            n += len(y)
    model.train()
    return loss / n, correct / n


def main():
    args = get_args()
    torch.manual_seed(args.seed)

    train_set = NoseDataset("train.npz", threshold=args.threshold)
    test_set = NoseDataset("test.npz", threshold=args.threshold)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, drop_last=True)
    test_loader = DataLoader(test_set, batch_size=256)

    n_in = 2 * train_set.signals.shape[1]
    model = SpikingNet(n_in, args.hidden, int(train_set.labels.max()) + 1)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
    print(f"{len(train_set)} train, {len(test_set)} test, "
          f"{sum(p.numel() for p in model.parameters())} parameters")

    best = 0.0
    for epoch in range(1, args.epochs + 1):
        start = time.time()
        for step, (x, y) in enumerate(train_loader, 1):
            logits, spikes = model(x)
            loss = criterion(logits, y) + args.rate_penalty * rate_loss(spikes, args.max_rate)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            if step % args.log_every == 0:
                rates = " ".join(f"{s.mean().item():.3f}" for s in spikes)
                print(f"epoch {epoch} step {step}/{len(train_loader)} loss {loss.item():.4f} rates {rates}")
        scheduler.step()

        test_loss, acc = evaluate(model, test_loader, criterion)
        print(f"== epoch {epoch}: test loss {test_loss:.4f} accuracy {acc:.3f} ({time.time() - start:.1f}s)")
        if acc > best:
            best = acc
            torch.save({"model": model.state_dict(), "args": vars(args)}, "nose.pt")
    print(f"best accuracy {best:.3f}")


if __name__ == "__main__":
    main()
