import argparse
import math
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from data import Collate, RecipeStream
from model import RecipeLM, cosine
from tokenizer import BPETokenizer

HERE = Path(__file__).parent


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--data", type=Path, default=HERE / "data")
    p.add_argument("--out", type=Path, default=HERE / "recipe.pt")
    p.add_argument("--max-len", type=int, default=256)
    p.add_argument("--width", type=int, default=128)
    p.add_argument("--layers", type=int, default=3)
    p.add_argument("--heads", type=int, default=4)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--steps", type=int, default=300)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--eval-every", type=int, default=100)
    p.add_argument("--log-every", type=int, default=20)
    p.add_argument("--seed", type=int, default=3)
    return p.parse_args()


def compute_loss(model, inputs, targets, pad):
    logits = model(inputs)
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=pad)


@torch.no_grad()
def evaluate(model, loader, pad):
    model.eval()
    total, count = 0.0, 0
    for inputs, targets in loader:
        n = (targets != pad).sum().item()
        total += compute_loss(model, inputs, targets, pad).item() * n
        count += n
    model.train()
    return total / count


def forever(loader):
    while True:
        yield from loader


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    tokenizer = BPETokenizer(args.data / "merges.txt")
    collate = Collate(tokenizer.pad, args.max_len)
    train_set = RecipeStream(args.data / "train.jsonl", tokenizer, args.max_len, shuffle_buffer=1000, seed=args.seed)
    valid_set = RecipeStream(args.data / "valid.jsonl", tokenizer, args.max_len)
    train_loader = DataLoader(train_set, args.batch_size, collate_fn=collate, drop_last=True)
    valid_loader = DataLoader(valid_set, 20, collate_fn=collate)

    model = RecipeLM(len(tokenizer), args.max_len, args.width, args.heads, args.layers)
    decay = [p for p in model.parameters() if p.dim() >= 2]
    rest = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}],
                                  lr=args.lr, betas=(0.9, 0.95))
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: cosine(s, 20, args.steps))
    print(f"vocabulary {len(tokenizer)}, {sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters")

    start = time.time()
    for step, (inputs, targets) in zip(range(1, args.steps + 1), forever(train_loader)):
        loss = compute_loss(model, inputs, targets, tokenizer.pad)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        if step % args.log_every == 0:
            print(f"step {step} loss {loss.item():.4f} norm {norm.item():.2f} "
                  f"lr {scheduler.get_last_lr()[0]:.2e} {(time.time() - start) / step * 1000:.0f} ms/step", flush=True)
        if step % args.eval_every == 0:
            valid = evaluate(model, valid_loader, tokenizer.pad)
            sample = model.generate(torch.tensor([[tokenizer.bos]]), 60)
            print(f"step {step} valid {valid:.4f} perplexity {math.exp(valid):.2f}")
            print("  " + tokenizer.decode(sample[0].tolist()).replace("\n", " / "), flush=True)
            torch.save({"model": model.state_dict(), "step": step}, args.out)


if __name__ == "__main__":
    main()
