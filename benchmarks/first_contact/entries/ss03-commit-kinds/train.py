"""Fine-grained classification of commit messages by kind of change."""
import argparse
import logging
import os
import time

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader

from data import KINDS, CommitDataset, read_commits
from model import CommitClassifier
from tokenizer import WordPiece

logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s")
logger = logging.getLogger(__name__)


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data_dir", default="data")
    parser.add_argument("--output_dir", default="output")
    parser.add_argument("--max_length", type=int, default=128)
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--warmup_steps", type=int, default=100)
    parser.add_argument("--logging_steps", type=int, default=50)
    parser.add_argument("--seed", type=int, default=42)
    return parser.parse_args()


def macro_f1(pred, gold):
    scores = []
    for k in range(len(KINDS)):
        tp = np.sum((pred == k) & (gold == k))
        fp = np.sum((pred == k) & (gold != k))
        fn = np.sum((pred != k) & (gold == k))
        scores.append(2 * tp / max(2 * tp + fp + fn, 1))
    return float(np.mean(scores))


def evaluate(model, loader, criterion):
    model.eval()
    losses, preds, golds = [], [], []
    for batch in loader:
        logits = model(batch["input_ids"], batch["attention_mask"])
        losses.append(criterion(logits, batch["label"]).item())
        preds.append(logits.argmax(-1).numpy())
        golds.append(batch["label"].numpy())
    preds, golds = np.concatenate(preds), np.concatenate(golds)
    model.train()
    return {"loss": float(np.mean(losses)), "acc": float((preds == golds).mean()), "f1": macro_f1(preds, golds)}


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    os.makedirs(args.output_dir, exist_ok=True)

    tokenizer = WordPiece(os.path.join(args.data_dir, "vocab.txt"))
    messages, labels = read_commits(os.path.join(args.data_dir, "commits.jsonl"))
    split = int(0.9 * len(messages))
    train_set = CommitDataset(messages[:split], labels[:split], tokenizer, args.max_length)
    dev_set = CommitDataset(messages[split:], labels[split:], tokenizer, args.max_length)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, drop_last=True)
    dev_loader = DataLoader(dev_set, batch_size=args.batch_size)

    model = CommitClassifier(len(tokenizer), args.max_length, len(KINDS), dropout=args.dropout)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    total_steps = len(train_loader) * args.epochs

    def schedule(step):
        if step < args.warmup_steps:
            return step / args.warmup_steps
        return max(0.0, (total_steps - step) / (total_steps - args.warmup_steps))

    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, schedule)
    logger.info("train %d, dev %d, vocab %d", len(train_set), len(dev_set), len(tokenizer))

    best_f1, global_step = 0.0, 0
    for epoch in range(args.epochs):
        start, running = time.time(), 0.0
        for batch in train_loader:
            optimizer.zero_grad()
            logits = model(batch["input_ids"], batch["attention_mask"])
            loss = criterion(logits, batch["label"])
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            global_step += 1
            running += loss.item()
            if global_step % args.logging_steps == 0:
                logger.info("step %d loss %.4f lr %.2e", global_step, running / args.logging_steps,
                            scheduler.get_last_lr()[0])
                running = 0.0

        metrics = evaluate(model, dev_loader, criterion)
        logger.info("epoch %d %s (%.1fs)", epoch, metrics, time.time() - start)
        if metrics["f1"] > best_f1:
            best_f1 = metrics["f1"]
            torch.save(model.state_dict(), os.path.join(args.output_dir, "best.pt"))


if __name__ == "__main__":
    main()
