import argparse
import os
import time

import torch

from model import FragmentModel, spectral_angle
from peptides import LengthBatches, read_table


def parse_args():
    p = argparse.ArgumentParser(description="Fragment intensity prediction")
    p.add_argument("--data", default="data")
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch-size", type=int, default=128)
    p.add_argument("--lr", type=float, default=5e-4)
    p.add_argument("--warmup", type=int, default=60)
    p.add_argument("--log-every", type=int, default=40)
    p.add_argument("--seed", type=int, default=8)
    p.add_argument("--out", default="runs")
    return p.parse_args()


@torch.inference_mode()
def validate(model, batches):
    model.eval()
    angles = [spectral_angle(model(r, c, e), s) for r, c, e, s in batches]
    model.train()
    angles = torch.cat(angles)
    return angles.mean().item(), angles.median().item()


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    os.makedirs(args.out, exist_ok=True)
    train = LengthBatches(read_table(f"{args.data}/train.csv", f"{args.data}/train.npy"), args.batch_size)
    val = LengthBatches(read_table(f"{args.data}/val.csv", f"{args.data}/val.npy"), 2 * args.batch_size, False)

    model = FragmentModel()
    decay = [p for p in model.parameters() if p.dim() > 1]
    plain = [p for p in model.parameters() if p.dim() <= 1]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}],
                                  lr=args.lr, fused=True)
    total = args.epochs * len(train)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min((s + 1) / args.warmup, max(0.02, 1 - s / total)))
    print(f"{len(train)} batches an epoch, {sum(p.numel() for p in model.parameters())} parameters")

    step, best = 0, -1.0
    for epoch in range(args.epochs):
        recent = []
        for residues, charge, energy, spectrum in train:
            angle = spectral_angle(model(residues, charge, energy), spectrum).mean()
            loss = 1 - angle
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            step += 1
            recent.append(angle.item())
            if step % args.log_every == 0:
                print(f"epoch {epoch} step {step} angle {sum(recent) / len(recent):.4f}", flush=True)
                recent = []
        mean, median = validate(model, val)
        print(f"epoch {epoch} validation angle mean {mean:.4f} median {median:.4f}", flush=True)
        if mean > best:
            best = mean
            torch.save({"model": model.state_dict(), "epoch": epoch}, os.path.join(args.out, "best.pt"))


if __name__ == "__main__":
    start = time.time()
    main()
    print(f"{time.time() - start:.1f} s")
