"""Intent classification of fixed-length token windows with a transformer encoder."""
import argparse
import math
import time

import torch
import torch.nn.functional as F

from model import IntentClassifier


def make_data(count, vocab, length, classes, seed):
    """Every class favours its own hundred tokens; the order carries a weak second signal."""
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, classes, (count,), generator=g)
    x = torch.randint(0, vocab, (count, length), generator=g)
    topical = (y[:, None] * 100 + torch.randint(0, 100, (count, length), generator=g)) % vocab
    x = torch.where(torch.rand(count, length, generator=g) < 0.15, topical, x)
    return x, y


@torch.inference_mode()
def evaluate(model, x, y, batch_size):
    model.eval()
    hits = torch.zeros((), dtype=torch.long)
    for tokens, labels in zip(x.split(batch_size), y.split(batch_size)):
        with torch.autocast("cpu", torch.bfloat16):
            logits = model(tokens)
        hits += (logits.argmax(1) == labels).sum()
    model.train()
    return hits.item() / len(y)


def parameter_groups(model, weight_decay):
    decay = [p for p in model.parameters() if p.ndim >= 2]
    plain = [p for p in model.parameters() if p.ndim < 2]
    return [{"params": decay, "weight_decay": weight_decay}, {"params": plain, "weight_decay": 0.0}]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--train-size", type=int, default=6400)
    ap.add_argument("--val-size", type=int, default=512)
    ap.add_argument("--vocab", type=int, default=4000)
    ap.add_argument("--length", type=int, default=64)
    ap.add_argument("--classes", type=int, default=24)
    ap.add_argument("--dim", type=int, default=128)
    ap.add_argument("--heads", type=int, default=4)
    ap.add_argument("--layers", type=int, default=3)
    ap.add_argument("--batch-size", type=int, default=32)
    ap.add_argument("--epochs", type=int, default=12)
    ap.add_argument("--lr", type=float, default=5e-4)
    ap.add_argument("--warmup", type=int, default=100)
    args = ap.parse_args()

    torch.manual_seed(0)
    train_x, train_y = make_data(args.train_size, args.vocab, args.length, args.classes, seed=1)
    val_x, val_y = make_data(args.val_size, args.vocab, args.length, args.classes, seed=2)
    model = IntentClassifier(args.vocab, args.classes, args.dim, args.heads, args.layers, args.length, 0.1)
    opt = torch.optim.AdamW(parameter_groups(model, 0.05), lr=args.lr, fused=True)
    per_epoch = args.train_size // args.batch_size
    total = args.epochs * per_epoch

    def schedule(step):
        if step < args.warmup:
            return (step + 1) / args.warmup
        return 0.5 * (1 + math.cos(math.pi * (step - args.warmup) / (total - args.warmup)))

    sched = torch.optim.lr_scheduler.LambdaLR(opt, schedule)
    for epoch in range(args.epochs):
        tic = time.time()
        running = torch.zeros(())
        order = torch.randperm(args.train_size)[: per_epoch * args.batch_size]
        for idx in order.split(args.batch_size):
            with torch.autocast("cpu", torch.bfloat16):
                logits = model(train_x[idx])
            loss = F.cross_entropy(logits.float(), train_y[idx], label_smoothing=0.05)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            running += loss.detach()
        acc = evaluate(model, val_x, val_y, 128)
        print(f"epoch {epoch:2d} loss {running.item() / per_epoch:.4f} val acc {acc:.3f} "
              f"[{time.time() - tic:.1f} s]", flush=True)


if __name__ == "__main__":
    main()
