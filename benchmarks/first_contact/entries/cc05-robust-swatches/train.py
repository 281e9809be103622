"""Adversarial training of a swatch classifier (Madry et al.)."""
import argparse
import os
import time

import torch
import torch.nn.functional as F

from attack import pgd
from network import SwatchNet
from swatches import Swatches


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--train-size", type=int, default=5120)
    p.add_argument("--test-size", type=int, default=512)
    p.add_argument("--image", type=int, default=24)
    p.add_argument("--classes", type=int, default=16)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--steps", type=int, default=340)
    p.add_argument("--lr", type=float, default=4e-3)
    p.add_argument("--epsilon", type=float, default=4 / 255)
    p.add_argument("--attack-steps", type=int, default=3)
    p.add_argument("--test-attack-steps", type=int, default=7)
    p.add_argument("--robust-subset", type=int, default=128)
    p.add_argument("--log-every", type=int, default=20)
    p.add_argument("--out", default="runs/robust")
    p.add_argument("--seed", type=int, default=2)
    return p.parse_args()


def evaluate(model, data, args):
    """Clean accuracy on the test set, robust accuracy on its first part."""
    clean = 0
    with torch.inference_mode():
        for x, y in data.batches(256):
            clean += (model(x).argmax(1) == y).sum().item()
    x, y = data.get(torch.arange(args.robust_subset))
    x = pgd(model, x, y, args.epsilon, args.epsilon / 3, args.test_attack_steps,
            torch.Generator().manual_seed(0))
    with torch.inference_mode():
        robust = (model(x).argmax(1) == y).sum().item()
    return clean / len(data), robust / args.robust_subset


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    os.makedirs(args.out, exist_ok=True)
    train = Swatches(args.train_size, args.image, args.classes, seed=21)
    test = Swatches(args.test_size, args.image, args.classes, seed=22)
    model = SwatchNet(args.classes).to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.steps, pct_start=0.2)
    generator = torch.Generator().manual_seed(args.seed)
    step, epoch, best, begin = 0, 0, 0.0, time.time()
    while step < args.steps:
        epoch += 1
        for x, y in train.batches(args.batch, generator):
            x = pgd(model, x, y, args.epsilon, args.epsilon / 2, args.attack_steps, generator)
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            schedule.step()
            step += 1
            if step % args.log_every == 0:
                print(f"step {step} adversarial loss {loss.item():.5f}", flush=True)
            if step == args.steps:
                break
        clean, robust = evaluate(model, test, args)
        print(f"epoch {epoch} clean {clean:.4f} robust {robust:.4f} [{time.time() - begin:.0f} s]", flush=True)
        if robust > best:
            best = robust
            torch.save(model.state_dict(), os.path.join(args.out, "best.pt"))


if __name__ == "__main__":
    main()
