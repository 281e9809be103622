import argparse
import logging
import os
import random
import time

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from data import PathContexts, collate
from metrics import SubtokenScores
from model import Code2Vec
from vocab import build_vocabs, save_vocabs

logger = logging.getLogger(__name__)


def arguments():
    parser = argparse.ArgumentParser(description="Predict method names from path contexts")
    parser.add_argument("--data", default="data")
    parser.add_argument("--out", default="out")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--max-contexts", type=int, default=120)
    parser.add_argument("--min-count", type=int, default=2)
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--code-dim", type=int, default=128)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--clip", type=float, default=5.0)
    parser.add_argument("--log-every", type=int, default=25)
    parser.add_argument("--seed", type=int, default=11)
    return parser.parse_args()


@torch.no_grad()
def evaluate(model, loader, scores):
    model.eval()
    scores.reset()
    loss = n = 0
    for left, path, right, mask, target in loader:
        logits, _ = model(left, path, right, mask)
        loss += F.cross_entropy(logits, target, reduction="sum").item()
        n += len(target)
        scores.update(logits, target)
    return loss / n, scores.result()


def main():
    args = arguments()
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    os.makedirs(args.out, exist_ok=True)

    tokens, paths, targets = build_vocabs(os.path.join(args.data, "train.c2v"), args.min_count)
    save_vocabs(os.path.join(args.out, "vocab.json"), tokens=tokens, paths=paths, targets=targets)
    train_set = PathContexts(os.path.join(args.data, "train.c2v"), tokens, paths, targets, args.max_contexts)
    val_set = PathContexts(os.path.join(args.data, "val.c2v"), tokens, paths, targets, args.max_contexts, sample=False)
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True, collate_fn=collate, drop_last=True)
    val_loader = DataLoader(val_set, args.batch_size, collate_fn=collate)

    model = Code2Vec(len(tokens), len(paths), len(targets), args.dim, args.code_dim)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    logger.info("%d tokens, %d paths, %d names; %d methods", len(tokens), len(paths), len(targets), len(train_set))

    train_scores, val_scores = SubtokenScores(targets), SubtokenScores(targets)
    best, step = 0.0, 0
    for epoch in range(args.epochs):
        model.train()
        train_scores.reset()
        running, start = 0.0, time.perf_counter()
        for left, path, right, mask, target in train_loader:
            logits, _ = model(left, path, right, mask)
            loss = F.cross_entropy(logits, target)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            optimizer.step()
            train_scores.update(logits.detach(), target)
            running += loss.item()
            step += 1
            if step % args.log_every == 0:
                took = time.perf_counter() - start
                logger.info("step %d loss %.4f train F1 %.4f, %.0f methods/s", step, running / args.log_every,
                            train_scores.result()["f1"], args.log_every * args.batch_size / took)
                running, start = 0.0, time.perf_counter()
        loss, result = evaluate(model, val_loader, val_scores)
        logger.info("epoch %d val loss %.4f %s", epoch, loss, " ".join(f"{k} {v:.4f}" for k, v in result.items()))
        if result["f1"] > best:
            best = result["f1"]
            torch.save({"model": model.state_dict(), "args": vars(args)}, os.path.join(args.out, "best.pt"))


if __name__ == "__main__":
    main()
