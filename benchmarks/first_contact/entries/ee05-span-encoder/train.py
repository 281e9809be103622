import argparse
import math
from pathlib import Path

import numpy as np
import torch

from corpus import SpanCorpus, Vocabulary, read_documents
from encoder import InfoNCE, SpanEncoder


def get_args():
    p = argparse.ArgumentParser(description="Contrastive pretraining of a span encoder")
    p.add_argument("--train", default="data/train.txt")
    p.add_argument("--valid", default="data/valid.txt")
    p.add_argument("--vocab", type=int, default=4000)
    p.add_argument("--span", type=int, default=32)
    p.add_argument("--dim", type=int, default=160)
    p.add_argument("--layers", type=int, default=3)
    p.add_argument("--heads", type=int, default=5)
    p.add_argument("--batch", type=int, default=48)
    p.add_argument("--steps", type=int, default=300)
    p.add_argument("--warmup", type=int, default=40)
    p.add_argument("--lr", type=float, default=8e-4)
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--eval-every", type=int, default=100)
    p.add_argument("--log-every", type=int, default=20)
    p.add_argument("--out", default="runs/span")
    p.add_argument("--seed", type=int, default=4)
    return p.parse_args()


def learning_rate(step, args):
    if step < args.warmup:
        return (step + 1) / args.warmup
    progress = (step - args.warmup) / max(1, args.steps - args.warmup)
    return 0.1 + 0.45 * (1 + math.cos(math.pi * progress))


@torch.no_grad()
def retrieval(model, corpus, batch):
    """Find the last span of each held-out document by its first."""
    model.eval()
    queries, answers = [], []
    for first, last in corpus.ends(batch):
        queries.append(model(first))
        answers.append(model(last))
    scores = torch.cat(queries) @ torch.cat(answers).T
    own = scores.diag().unsqueeze(1)
    rank = (scores > own).sum(dim=1) + 1
    model.train()
    return (rank == 1).float().mean().item(), (rank <= 10).float().mean().item(), (1.0 / rank).mean().item()


def forever(corpus, batch, rng):
    while True:
        yield from corpus.batches(batch, rng)


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    documents = read_documents(args.train)
    vocabulary = Vocabulary(documents, args.vocab)
    train = SpanCorpus(documents, vocabulary, args.span)
    valid = SpanCorpus(read_documents(args.valid), vocabulary, args.span)
    print(f"{len(train)} + {len(valid)} documents, {len(vocabulary)} words", flush=True)

    model = SpanEncoder(len(vocabulary), args.span, args.dim, args.layers, args.heads)
    criterion = InfoNCE()
    decay = [p for p in model.parameters() if p.ndim >= 2]
    plain = [p for p in model.parameters() if p.ndim < 2] + list(criterion.parameters())
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.05}, {"params": plain, "weight_decay": 0.0}],
                                  lr=args.lr, betas=(0.9, 0.98), fused=True)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: learning_rate(step, args))
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)

    losses, hits, best = [], [], 0.0
    for step, (left, right) in enumerate(forever(train, args.batch, rng), 1):
        embedded = model(torch.cat([left, right]))
        loss, accuracy = criterion(*embedded.chunk(2))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        hits.append(accuracy.item())
        if step % args.log_every == 0:
            print(f"step {step} loss {np.mean(losses[-args.log_every:]):.5f} acc {np.mean(hits[-args.log_every:]):.3f} "
                  f"norm {norm.item():.2f} scale {criterion.log_scale.exp().item():.2f}", flush=True)
        if step % args.eval_every == 0:
            top1, top10, mrr = retrieval(model, valid, 2 * args.batch)
            print(f"step {step} recall@1 {top1:.3f} recall@10 {top10:.3f} mrr {mrr:.3f}", flush=True)
            torch.save({"model": model.state_dict(), "step": step, "words": vocabulary.words}, out / "last.pt")
            if mrr > best:
                best = mrr
                torch.save(model.state_dict(), out / "best.pt")
        if step == args.steps:
            break


if __name__ == "__main__":
    main()
