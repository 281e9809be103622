"""Rhythm classification on synthetic ECG strips."""
import argparse
import logging
from pathlib import Path

import torch
import torch.nn.functional as F

from data import CLASSES, Batches, make_set
from model import EcgNet

log = logging.getLogger("ecg")


def parse_args():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--steps", type=int, default=320)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--length", type=int, default=1000, help="samples per strip")
    p.add_argument("--rate", type=int, default=125, help="samples per second")
    p.add_argument("--channels", type=int, default=32)
    p.add_argument("--layers", type=int, default=2)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--eval-every", type=int, default=80)
    p.add_argument("--log-every", type=int, default=25)
    p.add_argument("--out", type=Path, default=Path("runs"))
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


@torch.no_grad()
def evaluate(model, x, y, batch_size=32):
    model.eval()
    logits = torch.cat([model(part) for part in x.split(batch_size)])
    model.train()
    return F.cross_entropy(logits, y).item(), (logits.argmax(1) == y).float().mean().item()


def main():
    args = parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.manual_seed(args.seed)

    train_x, train_y = make_set(640, args.length, args.rate, seed=1)
    valid_x, valid_y = make_set(96, args.length, args.rate, seed=2)
    batches = iter(Batches(train_x, train_y, args.batch_size, seed=args.seed))

    model = EcgNet(len(CLASSES), args.length, args.channels, args.layers)
    log.info("%d parameters", sum(p.numel() for p in model.parameters()))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.steps)

    args.out.mkdir(exist_ok=True)
    best, running = 0.0, torch.zeros(())
    for step in range(1, args.steps + 1):
        x, y = next(batches)
        loss = F.cross_entropy(model(x), y, label_smoothing=0.05)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        schedule.step()

        running += loss.detach()
        if step % args.log_every == 0:
            print(f"step {step:4d}  loss {running.item() / args.log_every:.4f}", flush=True)
            running.zero_()
        if step % args.eval_every == 0:
            valid_loss, accuracy = evaluate(model, valid_x, valid_y)
            print(f"step {step:4d}  valid loss {valid_loss:.4f}  accuracy {accuracy:.3f}", flush=True)
            if accuracy > best:
                best = accuracy
                torch.save({"model": model.state_dict(), "step": step}, args.out / "best.pt")


if __name__ == "__main__":
    main()
