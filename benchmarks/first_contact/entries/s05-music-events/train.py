"""Language model over music events."""
import argparse
import math
from pathlib import Path

import torch

from score import VOCABULARY, Windows, corpus
from transformer import MusicModel


def parse_args():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--steps", type=int, default=400)
    p.add_argument("--batch-size", type=int, default=12)
    p.add_argument("--length", type=int, default=96)
    p.add_argument("--width", type=int, default=128)
    p.add_argument("--layers", type=int, default=3)
    p.add_argument("--heads", type=int, default=4)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--warmup", type=int, default=40)
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--eval-every", type=int, default=200)
    p.add_argument("--eval-batches", type=int, default=4)
    p.add_argument("--out", type=Path, default=Path("music.pt"))
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


def optimizer_for(model, lr):
    matrices = [p for p in model.parameters() if p.ndim >= 2]
    vectors = [p for p in model.parameters() if p.ndim < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.98), fused=True)


@torch.inference_mode()
def evaluate(model, windows, batches, size):
    model.eval()
    total = sum(model.loss(*windows.draw(size)) for _ in range(batches))
    model.train()
    return (total / batches).item()


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    train = Windows(corpus(300, seed=1), args.length, seed=args.seed)
    valid_stream = corpus(30, seed=2)

    model = MusicModel(VOCABULARY, args.length, args.width, args.layers, args.heads)
    optimizer = optimizer_for(model, args.lr)

    def rate(step):
        if step < args.warmup:
            return (step + 1) / args.warmup
        progress = (step - args.warmup) / max(1, args.steps - args.warmup)
        return 0.1 + 0.45 * (1 + math.cos(math.pi * progress))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
    print(f"{len(train.windows)} windows, vocabulary {VOCABULARY}, {sum(p.numel() for p in model.parameters())} parameters")

    running = torch.zeros(())
    for step in range(1, args.steps + 1):
        loss = model.loss(*train.draw(args.batch_size))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        optimizer.step()
        schedule.step()
        running += loss.detach()
        if step % 50 == 0:
            print(f"{step:5d}  train {running.item() / 50:.4f}  lr {schedule.get_last_lr()[0]:.2e}", flush=True)
            running.zero_()
        if step % args.eval_every == 0:
            valid = evaluate(model, Windows(valid_stream, args.length, seed=3), args.eval_batches, 2 * args.batch_size)
            print(f"{step:5d}  valid {valid:.4f}  perplexity {math.exp(valid):.2f}", flush=True)
    torch.save({"model": model.state_dict(), "args": {k: str(v) for k, v in vars(args).items()}}, args.out)


if __name__ == "__main__":
    main()
