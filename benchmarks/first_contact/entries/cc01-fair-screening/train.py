"""Screening model with an independence penalty on the representation."""
import argparse
import logging
import os

import torch
import torch.nn.functional as F

from data import load
from fairness import hsic, parity_gap
from model import Screener

log = logging.getLogger("screening")


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "data"))
    p.add_argument("--rows", type=int, default=30000)
    p.add_argument("--batch", type=int, default=512)
    p.add_argument("--steps", type=int, default=600)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--penalty", type=float, default=40.0)
    p.add_argument("--warmup", type=int, default=50)
    p.add_argument("--bandwidth", type=float, default=2.0)
    p.add_argument("--log-every", type=int, default=50)
    p.add_argument("--out", default="runs/screening")
    p.add_argument("--seed", type=int, default=3)
    return p.parse_args()


@torch.inference_mode()
def evaluate(model, table, batch_size=1024):
    model.eval()
    logits, protected, target = [], [], []
    for batch in table.batches(batch_size):
        logits.append(model(batch)[0])
        protected.append(batch["protected"])
        target.append(batch["target"])
    model.train()
    logits, protected, target = torch.cat(logits), torch.cat(protected), torch.cat(target)
    loss = F.binary_cross_entropy_with_logits(logits, target).item()
    accuracy = ((logits > 0) == (target > 0.5)).float().mean().item()
    return loss, accuracy, parity_gap(torch.sigmoid(logits), protected)


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.manual_seed(args.seed)
    train, valid = load(args.data, args.rows)
    log.info("%d rows to train on, %d to validate", len(train), len(valid))
    model = Screener()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4, fused=True)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    generator = torch.Generator().manual_seed(args.seed)
    os.makedirs(args.out, exist_ok=True)

    step, epoch, best = 0, 0, float("inf")
    while step < args.steps:
        for batch in train.batches(args.batch, generator):
            logits, z = model(batch)
            fit = F.binary_cross_entropy_with_logits(logits, batch["target"])
            dependence = hsic(z, batch["protected"], args.bandwidth, 1.0)
            weight = args.penalty * min(1.0, step / args.warmup)
            loss = fit + weight * dependence
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            scheduler.step()
            step += 1
            if step % args.log_every == 0:
                log.info("step %d  bce %.5f  hsic %.6f", step, fit.item(), dependence.item())
            if step >= args.steps:
                break
        epoch += 1
        val_loss, accuracy, gap = evaluate(model, valid)
        log.info("epoch %d  validation bce %.5f  accuracy %.4f  parity gap %.4f",
                 epoch, val_loss, accuracy, gap)
        if val_loss < best:
            best = val_loss
            torch.save({"model": model.state_dict(), "epoch": epoch}, os.path.join(args.out, "best.pt"))
    log.info("best validation bce %.5f", best)


if __name__ == "__main__":
    main()
