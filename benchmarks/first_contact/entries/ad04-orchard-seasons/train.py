"""Which fruit grows on a pixel, from a season of satellite images."""
import argparse
import time

import numpy as np
import torch
import torch.nn.functional as F

from seasonformer import SeasonFormer


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--data", default="pixels.npz")
    p.add_argument("--batch-size", type=int, default=48)
    p.add_argument("--epochs", type=int, default=18)
    p.add_argument("--lr", type=float, default=3e-4)
    p.add_argument("--warmup", type=float, default=0.1)
    p.add_argument("--weight-decay", type=float, default=0.05)
    p.add_argument("--smoothing", type=float, default=0.05)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", default="seasonformer.pt")
    return p.parse_args()


def load(path):
    data = np.load(path)
    x, y, val_x, val_y = (torch.from_numpy(data[k]) for k in ("train_x", "train_y", "val_x", "val_y"))
    mean, std = x.mean((0, 1)), x.std((0, 1))
    return (x - mean) / std, y, (val_x - mean) / std, val_y


@torch.inference_mode()
def evaluate(model, x, y, kinds):
    model.eval()
    predicted = torch.cat([model(chunk).argmax(dim=1) for chunk in x.split(192)])
    model.train()
    confusion = torch.bincount(y * kinds + predicted, minlength=kinds * kinds).view(kinds, kinds)
    recall = confusion.diagonal() / confusion.sum(dim=1).clamp(min=1)
    return (predicted == y).float().mean().item(), recall.mean().item()


def main():
    args = parse()
    torch.manual_seed(args.seed)
    torch.set_flush_denormal(True)
    x, y, val_x, val_y = load(args.data)
    kinds = int(y.max()) + 1
    model = SeasonFormer(x.shape[2], x.shape[1], kinds)
    decay = [p for p in model.parameters() if p.dim() > 1]
    plain = [p for p in model.parameters() if p.dim() <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": args.weight_decay}, {"params": plain, "weight_decay": 0.0}],
        lr=args.lr, fused=True)
    per_epoch = len(x) // args.batch_size
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, args.lr, total_steps=args.epochs * per_epoch, pct_start=args.warmup)
    print(f"{len(x)} pixels, {kinds} kinds, {sum(p.numel() for p in model.parameters()):,} parameters")

    best = 0.0
    for epoch in range(args.epochs):
        start = time.perf_counter()
        running = torch.zeros(())
        for index in torch.randperm(len(x))[: per_epoch * args.batch_size].split(args.batch_size):
            loss = F.cross_entropy(model(x[index]), y[index], label_smoothing=args.smoothing)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            scheduler.step()
            running += loss.detach()
        trained = time.perf_counter() - start
        accuracy, recall = evaluate(model, val_x, val_y, kinds)
        print(f"epoch {epoch}: loss {running.item() / per_epoch:.4f} accuracy {accuracy:.4f} mean recall {recall:.4f} "
              f"({trained:.1f}s + {time.perf_counter() - start - trained:.1f}s)", flush=True)
        if accuracy > best:
            best = accuracy
            torch.save(model.state_dict(), args.out)


if __name__ == "__main__":
    main()
