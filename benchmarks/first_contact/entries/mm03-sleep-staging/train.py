import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter

from metrics import confusion, summary
from model import SleepStager
from nights import STAGES, SleepSequences, split_nights


def parse_args():
    p = argparse.ArgumentParser(description="Automatic sleep staging from one EEG and one EOG channel")
    p.add_argument("--nights", type=Path, default=Path("data/nights"))
    p.add_argument("--out", type=Path, default=Path("runs/sleep"))
    p.add_argument("--held-out", type=int, default=2)
    p.add_argument("--length", type=int, default=10)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--weight-decay", type=float, default=1e-3)
    p.add_argument("--clip", type=float, default=5.0)
    p.add_argument("--log-every", type=int, default=10)
    p.add_argument("--seed", type=int, default=3)
    return p.parse_args()


def augment(x):
    """Random gain per run and channel, random sign."""
    shape = (x.shape[0], 1, x.shape[2], 1)
    gain = torch.empty(shape).uniform_(0.8, 1.25)
    sign = torch.randint(0, 2, (x.shape[0], 1, 1, 1)) * 2 - 1
    return x * (gain * sign)


@torch.inference_mode()
def evaluate(model, loader, criterion):
    model.eval()
    matrix = np.zeros((len(STAGES), len(STAGES)), np.int64)
    loss, n = 0.0, 0
    for x, y in loader:
        logits = model(x).flatten(0, 1)
        y = y.flatten()
        loss += criterion(logits, y).item() * len(y)
        n += len(y)
        matrix += confusion(y.numpy(), logits.argmax(1).numpy(), len(STAGES))
    model.train()
    return loss / n, matrix


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    args.out.mkdir(parents=True, exist_ok=True)
    writer = SummaryWriter(args.out)

    train_paths, test_paths = split_nights(args.nights, args.held_out)
    train_set = SleepSequences(train_paths, args.length, stride=args.length // 2)
    test_set = SleepSequences(test_paths, args.length)
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True, drop_last=True)
    test_loader = DataLoader(test_set, args.batch_size)

    model = SleepStager(stages=len(STAGES)).to(memory_format=torch.channels_last)
    criterion = nn.CrossEntropyLoss(weight=train_set.class_weights())
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=args.weight_decay, fused=True)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr * 3, total_steps=args.epochs * len(train_loader))
    print(f"{len(train_set)} runs from {len(train_paths)} nights, {len(train_loader)} steps an epoch, "
          f"{sum(p.numel() for p in model.parameters()):,} parameters")

    step, best, start = 0, -1.0, time.time()
    for epoch in range(args.epochs):
        for x, y in train_loader:
            logits = model(augment(x))
            loss = criterion(logits.flatten(0, 1), y.flatten())
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            optimizer.step()
            scheduler.step()
            step += 1
            writer.add_scalar("train/loss", loss.item(), step)
            writer.add_scalar("train/lr", scheduler.get_last_lr()[0], step)
            if step % args.log_every == 0:
                print(f"step {step:4d} loss {loss.item():.4f} norm {norm.item():.2f} "
                      f"{(time.time() - start) / step * 1000:.0f} ms/step")
        test_loss, matrix = evaluate(model, test_loader, criterion)
        s = summary(matrix)
        writer.add_scalar("test/kappa", s["kappa"], step)
        print(f"epoch {epoch}: test loss {test_loss:.4f} acc {s['accuracy']:.3f} kappa {s['kappa']:.3f} "
              f"F1 " + " ".join(f"{n} {v:.2f}" for n, v in zip(STAGES, s["f1"])))
        if s["kappa"] > best:
            best = s["kappa"]
            torch.save({"model": model.state_dict(), "epoch": epoch, "kappa": best}, args.out / "best.pt")
            (args.out / "best.json").write_text(json.dumps({"epoch": epoch, "kappa": best, "matrix": matrix.tolist()}))
    writer.close()
    print(f"best kappa {best:.3f}, {time.time() - start:.1f} s")


if __name__ == "__main__":
    main()
