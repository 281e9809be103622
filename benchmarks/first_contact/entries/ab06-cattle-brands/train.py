"""Tell whether two photos show the same cattle brand; tested by one-shot recognition of new brands."""
import argparse
import ctypes
import time

import torch
import torch.nn.functional as F

from pairs import draw_pairs, load_brands
from twins import Twins

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="brands.npz")
    p.add_argument("--pairs", type=int, default=64)
    p.add_argument("--epochs", type=int, default=26)
    p.add_argument("--steps-per-epoch", type=int, default=24)
    p.add_argument("--lr", type=float, default=8e-4)
    p.add_argument("--weight-decay", type=float, default=0.01)
    p.add_argument("--seed", type=int, default=11)
    return p.parse_args()


def keep_freed_memory():
    """Every step allocates the same sizes again, so what is freed stays with the process."""
    libc = ctypes.CDLL("libc.so.6")
    libc.mallopt(M_MMAP_MAX, 0)
    libc.mallopt(M_TRIM_THRESHOLD, 2 ** 31 - 1)


@torch.inference_mode()
def one_shot(model, photos):
    """The first photo of every brand is known; the others are given the brand that is nearest."""
    model.eval()
    brands, each = photos.shape[:2]
    h = model.embed(photos.flatten(0, 1)).view(brands, each, -1)
    known, asked = h[:, 0], h[:, 1:].flatten(0, 1)
    guess = model.compare(asked[:, None], known[None]).argmax(dim=1)
    model.train()
    truth = torch.arange(brands).repeat_interleave(each - 1)
    return (guess == truth).float().mean().item()


def main():
    args = parse_args()
    keep_freed_memory()
    torch.manual_seed(args.seed)
    train, val = load_brands(args.data)
    model = Twins().to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=args.weight_decay, fused=True)
    total = args.epochs * args.steps_per_epoch
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=total)
    print(f"{len(train)} brands to train on, {len(val)} new ones to recognise")

    best = 0.0
    for epoch in range(args.epochs):
        began = time.time()
        running = torch.zeros(())
        for _ in range(args.steps_per_epoch):
            first, second, same = draw_pairs(train, args.pairs)
            loss = F.binary_cross_entropy_with_logits(model(first, second), same)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            scheduler.step()
            running += loss.detach()
        right = one_shot(model, val)
        print(f"epoch {epoch:2d} loss {running.item() / args.steps_per_epoch:.4f} one-shot {right:.3f} "
              f"{time.time() - began:.1f}s", flush=True)
        if right > best:
            best = right
            torch.save(model.state_dict(), "twins.pt")


if __name__ == "__main__":
    main()
