"""Tells the state of rotor blades from their vibrations with a patch Transformer.

    python train.py --epochs 8
"""
import argparse
import copy
import math
import time

import torch
import torch.nn.functional as F

from model import BladeTransformer
from windows import augment, load


class WeightAverage:
    """Exponential moving average of the weights; the validation uses it."""

    def __init__(self, model, decay):
        self.model = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay = decay
        self.mine, self.theirs = list(self.model.parameters()), list(model.parameters())

    @torch.no_grad()
    def update(self):
        torch._foreach_lerp_(self.mine, self.theirs, 1 - self.decay)


@torch.inference_mode()
def validate(model, batches, classes):
    loss, matrix = torch.zeros(()), torch.zeros(classes * classes, dtype=torch.long)
    for windows, labels in batches:
        logits = model(windows)
        loss += F.cross_entropy(logits, labels, reduction="sum")
        matrix += torch.bincount(labels * classes + logits.argmax(1), minlength=classes * classes)
    matrix = matrix.view(classes, classes)
    return (loss / matrix.sum()).item(), matrix


def learning_rate(step, steps, warmup):
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, steps - warmup)))


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default=".")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--lr", type=float, default=5e-4)
    parser.add_argument("--weight-decay", type=float, default=0.05)
    parser.add_argument("--warmup", type=int, default=30)
    parser.add_argument("--decay", type=float, default=0.98)
    parser.add_argument("--validate-every", type=int, default=4)
    parser.add_argument("--log-every", type=int, default=10)
    parser.add_argument("--out", default="blades.pt")
    return parser.parse_args()


def main():
    args = parse_args()
    torch.manual_seed(9)
    generator = torch.Generator().manual_seed(10)
    train, val, states = load(args.data, args.length, args.batch_size, generator)
    model = BladeTransformer(6, len(states), length=args.length)
    average = WeightAverage(model, args.decay)

    plain = [p for p in model.parameters() if p.dim() < 2]
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": args.weight_decay}, {"params": plain, "weight_decay": 0.0}],
        lr=args.lr, fused=True,
    )
    steps = args.epochs * len(train)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: learning_rate(step, steps, args.warmup))
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters, {len(train)} steps an epoch")

    step, best, began = 0, math.inf, time.time()
    for epoch in range(1, args.epochs + 1):
        model.train()
        for windows, labels in train:
            loss = F.cross_entropy(model(augment(windows, generator)), labels, label_smoothing=0.05)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            average.update()
            step += 1
            if step % args.log_every == 0:
                print(f"step {step}: loss {loss.item():.4f}, {(time.time() - began) / step * 1e3:.0f} ms a step")
        if epoch % args.validate_every == 0:
            val_loss, matrix = validate(average.model, val, len(states))
            recall = matrix.diag() / matrix.sum(1).clamp(min=1)
            print(f"epoch {epoch}: validation loss {val_loss:.4f}, mean recall {recall.mean():.3f}")
            for name, value in zip(states, recall.tolist()):
                print(f"    {name:12s} {value:.3f}")
            if val_loss < best:
                best = val_loss
                torch.save({"model": average.model.state_dict(), "epoch": epoch}, args.out)


if __name__ == "__main__":
    main()
