import argparse
import logging
import os
import time

import torch

from model import PenNet
from strokes import Buckets, load


def options():
    p = argparse.ArgumentParser(description="Unconditional handwriting synthesis")
    p.add_argument("--data", default="data/strokes.npz")
    p.add_argument("--out", default="pen")
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--hidden", type=int, default=256)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--clip", type=float, default=5.0)
    p.add_argument("--samples", type=int, default=4)
    p.add_argument("--sample-steps", type=int, default=120)
    p.add_argument("--seed", type=int, default=1)
    return p.parse_args()


@torch.inference_mode()
def held_out_loss(model, batches):
    total = count = 0
    for x, y, mask in batches:
        n = int(mask.sum())
        total += model.loss(model(x)[0], y, mask).item() * n
        count += n
    return total / count


def main():
    opt = options()
    os.makedirs(opt.out, exist_ok=True)
    logging.basicConfig(level=logging.INFO, format="%(message)s",
                        handlers=[logging.StreamHandler(), logging.FileHandler(os.path.join(opt.out, "train.log"), "w")])
    torch.manual_seed(opt.seed)
    train, held_out = load(opt.data)
    batches = Buckets(train, opt.batch_size, seed=opt.seed)
    checks = Buckets(held_out, 64, shuffle=False)
    model = PenNet(opt.hidden)
    optimizer = torch.optim.Adam(model.parameters(), lr=opt.lr, fused=True)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    sampler = torch.Generator().manual_seed(opt.seed)
    logging.info("%d lines, %d held out", len(train), len(held_out))

    step, running, best = 0, 0.0, float("inf")
    for epoch in range(opt.epochs):
        start = time.perf_counter()
        for x, y, mask in batches:
            out, _ = model(x)
            loss = model.loss(out, y, mask)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), opt.clip)
            optimizer.step()
            step += 1
            running += loss.item()
            if step % 20 == 0:
                logging.info("step %d loss %.4f", step, running / 20)
                running = 0.0
        schedule.step()
        check = held_out_loss(model, checks)
        logging.info("epoch %d held-out %.4f (%.1f s)", epoch, check, time.perf_counter() - start)
        torch.save(model.write(opt.samples, opt.sample_steps, sampler), os.path.join(opt.out, f"written_{epoch}.pt"))
        if check < best:
            best = check
            torch.save({"model": model.state_dict(), "epoch": epoch}, os.path.join(opt.out, "best.pt"))


if __name__ == "__main__":
    main()
