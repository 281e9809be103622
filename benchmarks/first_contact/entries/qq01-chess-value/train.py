import argparse
import logging
import os
import time

import torch
from torch.utils.data import DataLoader

from data import PositionSet, collate
from model import NNUE, WeightClipper

log = logging.getLogger("nnue")


def parse_args():
    p = argparse.ArgumentParser(description="Train a HalfKP evaluation network")
    p.add_argument("--train", default="data/train.epd")
    p.add_argument("--val", default="data/val.epd")
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--batch-size", type=int, default=1024)
    p.add_argument("--lr", type=float, default=0.02)
    p.add_argument("--l1", type=int, default=128)
    p.add_argument("--lambda", dest="lambda_", type=float, default=0.8,
                   help="1.0 = train on scores only, 0.0 = train on game results only")
    p.add_argument("--workers", type=int, default=0)
    p.add_argument("--log-every", type=int, default=20)
    p.add_argument("--seed", type=int, default=4)
    p.add_argument("--out", default="runs")
    return p.parse_args()


def nnue_loss(output, stm, score, result, lambda_):
    sign = 2 * stm - 1
    wdl = torch.sigmoid(output * 600 / 361)
    target = torch.sigmoid(sign * score / 410)
    outcome = stm * result + (1 - stm) * (1 - result)
    goal = lambda_ * target + (1 - lambda_) * outcome
    return (wdl - goal).abs().pow(2.6).mean()


@torch.no_grad()
def validate(model, loader, args):
    model.eval()
    total, agree, n = 0.0, 0, 0
    for white, black, offsets, stm, score, result in loader:
        output = model(white, black, offsets, stm)
        total += nnue_loss(output, stm, score, result, args.lambda_).item() * len(stm)
        agree += ((output > 0) == ((2 * stm - 1) * score > 0)).sum().item()
        n += len(stm)
    model.train()
    return total / n, agree / n


def main():
    args = parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.manual_seed(args.seed)
    os.makedirs(args.out, exist_ok=True)

    train_set, val_set = PositionSet(args.train), PositionSet(args.val)
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True, drop_last=True,
                              collate_fn=collate, num_workers=args.workers)
    val_loader = DataLoader(val_set, 2 * args.batch_size, collate_fn=collate,
                            num_workers=args.workers)
    log.info("%d training positions, %d for validation", len(train_set), len(val_set))

    model = NNUE(args.l1)
    clipper = WeightClipper(model)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.9)

    step, best = 0, float("inf")
    for epoch in range(args.epochs):
        running = 0.0
        for white, black, offsets, stm, score, result in train_loader:
            output = model(white, black, offsets, stm)
            loss = nnue_loss(output, stm, score, result, args.lambda_)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            clipper()
            running += loss.item()
            step += 1
            if step % args.log_every == 0:
                log.info("epoch %d step %d loss %.6f", epoch, step, running / args.log_every)
                running = 0.0
        scheduler.step()
        val_loss, agreement = validate(model, val_loader, args)
        log.info("epoch %d val %.6f sign agreement %.4f", epoch, val_loss, agreement)
        if val_loss < best:
            best = val_loss
            torch.save(model.state_dict(), os.path.join(args.out, "best.pt"))


if __name__ == "__main__":
    start = time.time()
    main()
    log.info("total %.1f s", time.time() - start)
