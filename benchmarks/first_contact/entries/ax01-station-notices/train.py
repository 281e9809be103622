"""Trains a small character decoder on railway announcements."""
import argparse
import logging
import math
import os
import time

import torch

from decoder import Decoder
from notices import Notices

log = logging.getLogger("notices")


def parameter_groups(model, decay):
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    return [{"params": matrices, "weight_decay": decay}, {"params": vectors, "weight_decay": 0.0}]


def learning_rate(step, args):
    if step < args.warmup:
        return args.lr * (step + 1) / args.warmup
    done = (step - args.warmup) / max(1, args.steps - args.warmup)
    return args.lr * (0.1 + 0.45 * (1 + math.cos(math.pi * done)))


@torch.inference_mode()
def held_out_loss(model, corpus, args):
    model.eval()
    starts = torch.arange(0, len(corpus.held_out) - args.context - 1, args.context)[: 8 * args.batch]
    total = torch.zeros(())
    for part in starts.split(args.batch):
        x, y = corpus.windows(corpus.held_out, part, args.context)
        total += model(x, y) * len(part)
    model.train()
    return (total / len(starts)).item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=1500)
    p.add_argument("--batch", type=int, default=16)
    p.add_argument("--context", type=int, default=128)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--warmup", type=int, default=100)
    p.add_argument("--decay", type=float, default=0.1)
    p.add_argument("--notices", type=int, default=12000)
    p.add_argument("--report", type=int, default=20)
    p.add_argument("--validate", type=int, default=500)
    p.add_argument("--out", default="runs")
    args = p.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.manual_seed(5)
    torch.set_num_threads(os.cpu_count())

    corpus = Notices(args.notices, seed=5)
    model = Decoder(len(corpus.alphabet), context=args.context)
    optimizer = torch.optim.AdamW(parameter_groups(model, args.decay), lr=args.lr, betas=(0.9, 0.95), fused=True)
    log.info("%d characters, %d symbols, %d parameters", len(corpus.train), len(corpus.alphabet), sum(p.numel() for p in model.parameters()))

    running, began = torch.zeros(()), time.perf_counter()
    for step in range(args.steps):
        rate = learning_rate(step, args)
        for group in optimizer.param_groups:
            group["lr"] = rate
        starts = torch.randint(len(corpus.train) - args.context - 1, (args.batch,))
        x, y = corpus.windows(corpus.train, starts, args.context)
        loss = model(x, y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        running += loss.detach()
        if (step + 1) % args.report == 0:
            log.info("step %d loss %.6f (%.1f s)", step + 1, running.item() / args.report, time.perf_counter() - began)
            running.zero_()
        if (step + 1) % args.validate == 0:
            log.info("step %d held out %.4f", step + 1, held_out_loss(model, corpus, args))
            os.makedirs(args.out, exist_ok=True)
            torch.save({"model": model.state_dict(), "alphabet": corpus.alphabet, "step": step + 1}, os.path.join(args.out, "decoder.pt"))
    start = torch.tensor([[corpus.alphabet.index("\n")]])
    log.info("sample: %s", "".join(corpus.alphabet[i] for i in model.write(start, 120)[0].tolist()).strip())


if __name__ == "__main__":
    main()
