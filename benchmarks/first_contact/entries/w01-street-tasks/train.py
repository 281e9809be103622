"""Segmentation, depth and surface normals from one trunk, balanced by GradNorm."""
import argparse
import logging
from pathlib import Path

import torch

from balance import GradNorm
from network import StreetNet, task_losses
from scenes import CLASSES, Scenes

log = logging.getLogger("street")


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--steps", type=int, default=420)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--width", type=int, default=16)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--alpha", type=float, default=1.0)
    p.add_argument("--eval-every", type=int, default=100)
    p.add_argument("--log-every", type=int, default=20)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", type=Path, default=Path("runs"))
    return p.parse_args()


@torch.inference_mode()
def evaluate(model, scenes):
    model.eval()
    table = torch.zeros(CLASSES, CLASSES, dtype=torch.long)
    off, tilt, pixels = 0.0, 0.0, 0
    for images, labels, depth, normals in scenes:
        outputs = model(images)
        guess = outputs["segment"].argmax(1)
        pairs = labels.flatten() * CLASSES + guess.flatten()
        table += torch.bincount(pairs, minlength=CLASSES ** 2).view(CLASSES, CLASSES)
        off += (outputs["depth"] - depth).abs().sum()
        tilt += torch.cosine_similarity(outputs["normals"], normals, dim=1).sum()
        pixels += labels.numel()
    model.train()
    hit = table.diagonal().float()
    iou = hit / (table.sum(0) + table.sum(1) - hit).clamp_min(1)
    return iou.mean().item(), float(off) / pixels, float(tilt) / pixels


def endless(scenes):
    while True:
        yield from scenes


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    torch.manual_seed(args.seed)
    args.out.mkdir(exist_ok=True)

    train = Scenes(512, args.batch_size, seed=1)
    held_out = Scenes(96, 32, seed=2, shuffle=False)
    model = StreetNet(args.width)
    balance = GradNorm(tasks=3, alpha=args.alpha)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.steps)
    log.info("%d parameters, %d of them shared", sum(p.numel() for p in model.parameters()),
             sum(p.numel() for p in model.shared_parameters()))

    best = 0.0
    for step, (images, *targets) in enumerate(endless(train), start=1):
        losses = task_losses(model(images), *targets)
        total = balance.weighted(losses)
        balance.update(losses, model.shared_parameters())
        optimizer.zero_grad(set_to_none=True)
        total.backward()
        optimizer.step()
        schedule.step()
        balance.renormalise()

        if step % args.log_every == 0:
            segment, depth, normals = losses.tolist()
            weights = " ".join(f"{w:.2f}" for w in balance.weights.tolist())
            log.info("step %d loss %.5f segment %.4f depth %.4f normals %.4f weights %s",
                     step, total.item(), segment, depth, normals, weights)
        if step % args.eval_every == 0:
            iou, off, tilt = evaluate(model, held_out)
            log.info("held out: mean IoU %.3f, depth error %.4f, normal cosine %.3f", iou, off, tilt)
            if iou > best:
                best = iou
                torch.save({"model": model.state_dict(), "balance": balance.state_dict(), "step": step},
                           args.out / "best.pt")
        if step == args.steps:
            break


if __name__ == "__main__":
    main()
