"""Restoring lost words in charters."""
import argparse
import logging
import math
import os
import time

import torch
from torch.utils.data import DataLoader

from charters import PAD, Cartulary, LacunaCollator
from restorer import Restorer, SmoothedLoss

log = logging.getLogger("charters")


def noam(step, warmup):
    return min((step + 1) / warmup, math.sqrt(warmup / (step + 1)))


def restoration_loss(model, criterion, tokens, labels):
    logits = model(tokens)
    lost = labels != PAD
    return criterion(logits[lost], labels[lost]), logits


def accuracy(logits, labels, k=1):
    lost = labels != PAD
    top = logits[lost].topk(k, dim=-1).indices
    return (top == labels[lost].unsqueeze(1)).any(1).float().mean()


@torch.no_grad()
def evaluate(model, loader, criterion):
    model.eval()
    losses, top1, top10 = [], [], []
    for tokens, labels in loader:
        loss, logits = restoration_loss(model, criterion, tokens, labels)
        losses.append(loss.item())
        top1.append(accuracy(logits, labels).item())
        top10.append(accuracy(logits, labels, 10).item())
    model.train()
    n = len(losses)
    return sum(losses) / n, sum(top1) / n, sum(top10) / n


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--charters", type=int, default=1200)
    p.add_argument("--vocabulary", type=int, default=2500)
    p.add_argument("--longest", type=int, default=192)
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--log-every", type=int, default=5)
    p.add_argument("--output", default="restorer")
    args = p.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.manual_seed(41)

    cartulary = Cartulary(args.charters, args.vocabulary, args.longest, seed=41)
    cut = int(0.95 * len(cartulary.texts))
    loader = DataLoader(cartulary.texts[:cut], batch_size=args.batch, shuffle=True, drop_last=True, collate_fn=LacunaCollator(cartulary, seed=1))
    held = DataLoader(cartulary.texts[cut:], batch_size=args.batch, collate_fn=LacunaCollator(cartulary, seed=2))
    model = Restorer(args.vocabulary, args.longest)
    criterion = SmoothedLoss(args.vocabulary)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, betas=(0.9, 0.98))
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: noam(step, 200))
    os.makedirs(args.output, exist_ok=True)
    best, step = float("inf"), 0
    for epoch in range(args.epochs):
        began, total = time.time(), 0.0
        for tokens, labels in loader:
            loss, _ = restoration_loss(model, criterion, tokens, labels)
            optimizer.zero_grad()
            loss.backward()
            grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            total += loss.item()
            step += 1
            if step % args.log_every == 0:
                log.info("step %d loss %.6f norm %.4f lr %.2e", step, total / args.log_every, grad_norm, scheduler.get_last_lr()[0])
                total = 0.0
        loss, top1, top10 = evaluate(model, held, criterion)
        log.info("epoch %d: held out %.4f, top-1 %.3f, top-10 %.3f (%.1f s)", epoch, loss, top1, top10, time.time() - began)
        if loss < best:
            best = loss
            torch.save(model.state_dict(), os.path.join(args.output, "best.pt"))


if __name__ == "__main__":
    main()
