"""Which clauses does a paragraph of a contract hold? Multi-label transformer over subword tokens."""
import argparse
import math
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from clauses.data import BucketSampler, ClauseDataset, collate
from clauses.metrics import best_threshold, f1_scores
from clauses.model import ClauseClassifier


def parse_args():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--data", default="data")
    p.add_argument("--output", type=Path, default=Path("output"))
    p.add_argument("--vocab", type=int, default=6000)
    p.add_argument("--max-length", type=int, default=192)
    p.add_argument("--batch-size", type=int, default=12)
    p.add_argument("--updates", type=int, default=240)
    p.add_argument("--eval-every", type=int, default=120)
    p.add_argument("--lr", type=float, default=4e-4)
    p.add_argument("--warmup", type=int, default=40)
    p.add_argument("--weight-decay", type=float, default=0.01)
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--log-every", type=int, default=10)
    p.add_argument("--seed", type=int, default=42)
    return p.parse_args()


def endless(loader):
    while True:
        yield from loader


@torch.inference_mode()
def evaluate(model, loader):
    model.eval()
    logits, labels = [], []
    for tokens, y in loader:
        logits.append(model(tokens))
        labels.append(y)
    model.train()
    logits, labels = torch.cat(logits), torch.cat(labels)
    loss = F.binary_cross_entropy_with_logits(logits, labels).item()
    micro, macro = f1_scores(logits, labels)
    threshold, tuned = best_threshold(logits, labels)
    return {"loss": loss, "micro": micro, "macro": macro, "threshold": threshold, "tuned": tuned}


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    args.output.mkdir(exist_ok=True)

    train_set = ClauseDataset(args.data, "train", args.max_length)
    dev_set = ClauseDataset(args.data, "dev", args.max_length)
    sampler = BucketSampler(train_set.lengths(), args.batch_size, seed=args.seed)
    train_loader = DataLoader(train_set, batch_sampler=sampler, collate_fn=collate)
    dev_order = torch.utils.data.Subset(dev_set, dev_set.lengths().argsort().tolist())
    dev_loader = DataLoader(dev_order, batch_size=32, collate_fn=collate)

    n_labels = train_set.labels.size(1)
    model = ClauseClassifier(args.vocab, n_labels, max_length=args.max_length)
    decay = [p for p in model.parameters() if p.dim() > 1]
    rest = [p for p in model.parameters() if p.dim() <= 1]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": args.weight_decay}, {"params": rest, "weight_decay": 0.0}], lr=args.lr, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min((s + 1) / args.warmup, 0.5 * (1 + math.cos(math.pi * min(s / args.updates, 1.0)))))
    positives = train_set.labels.mean(0).clamp(min=1e-3)
    pos_weight = ((1 - positives) / positives).sqrt()
    with torch.no_grad():
        model.head.bias.copy_(torch.logit(positives))

    best, start = 0.0, time.time()
    for update, (tokens, labels) in enumerate(endless(train_loader), 1):
        loss = F.binary_cross_entropy_with_logits(model(tokens), labels, pos_weight=pos_weight)
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        optimizer.step()
        schedule.step()
        if update % args.log_every == 0:
            print(f"update {update:4d} loss {loss.item():.4f} norm {norm.item():.2f} lr {schedule.get_last_lr()[0]:.2e} {time.time() - start:.0f} s", flush=True)
        if update % args.eval_every == 0:
            result = evaluate(model, dev_loader)
            print("dev " + " ".join(f"{k} {v:.4f}" for k, v in result.items()), flush=True)
            if result["tuned"] > best:
                best = result["tuned"]
                torch.save({"model": model.state_dict(), "threshold": result["threshold"]}, args.output / "best.pt")
        if update == args.updates:
            break


if __name__ == "__main__":
    main()
