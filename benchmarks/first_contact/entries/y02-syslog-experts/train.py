"""Train a sparse mixture-of-experts model of log events and watch for surprising sessions."""
import argparse
import logging
import math
from pathlib import Path

import torch
import torch.nn.functional as F

from model import LogModel
from monitor import RunMonitor
from sessions import SessionLog

log = logging.getLogger("syslog")


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--steps", type=int, default=400)
    p.add_argument("--batch-size", type=int, default=12)
    p.add_argument("--length", type=int, default=64)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--balance", type=float, default=0.01, help="weight of the load balancing loss")
    p.add_argument("--eval-every", type=int, default=200)
    p.add_argument("--log-every", type=int, default=25)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", type=Path, default=Path("runs"))
    return p.parse_args()


@torch.inference_mode()
def evaluate(model, data, size):
    """Perplexity, and the surprise above which one session in a hundred lies."""
    model.eval()
    surprise = []
    for events, following in data.batches(size):
        logits, _ = model(events)
        surprise.append(F.cross_entropy(logits.transpose(1, 2), following, reduction="none").mean(1))
    model.train()
    surprise = torch.cat(surprise)
    return math.exp(surprise.mean().item()), surprise.quantile(0.99).item()


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.manual_seed(args.seed)
    args.out.mkdir(exist_ok=True)
    train = SessionLog(3000, args.length, seed=1)
    held_out = SessionLog(96, args.length, seed=2)
    model = LogModel(train.vocabulary, args.length)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.steps, pct_start=0.1)
    monitor = RunMonitor(args.out / "monitor.tsv")
    generator = torch.Generator().manual_seed(args.seed)

    step = 0
    while step < args.steps:
        for events, following in train.batches(args.batch_size, generator):
            step += 1
            logits, balance = model(events)
            loss = F.cross_entropy(logits.flatten(0, 1), following.flatten())
            optimizer.zero_grad(set_to_none=True)
            (loss + args.balance * balance).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            monitor.update(step, events.numel())
            if step % args.log_every == 0:
                log.info("step %d loss %.4f balance %.3f, %.0f events a second, peak %.0f MB",
                         step, loss.item(), balance.item(), monitor.rate(), monitor.peak)
            if step % args.eval_every == 0:
                perplexity, threshold = evaluate(model, held_out, 48)
                log.info("held out: perplexity %.2f, surprise threshold %.3f", perplexity, threshold)
                torch.save(model.state_dict(), args.out / "model.pt")
            if step == args.steps:
                break
    monitor.close()


if __name__ == "__main__":
    main()
