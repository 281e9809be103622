"""Semi-supervised sign segmentation on clay tablets with a mean teacher."""
import argparse
import copy
import math
import time

import torch
from torch.nn import functional as F
from torch.utils.data import DataLoader

from net import SignNet
from tablets import Crops, Tablets


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--signs", type=int, default=16)
    p.add_argument("--crop", type=int, default=64)
    p.add_argument("--labelled-batch", type=int, default=4)
    p.add_argument("--unlabelled-batch", type=int, default=8)
    p.add_argument("--steps", type=int, default=1500)
    p.add_argument("--lr", type=float, default=0.02)
    p.add_argument("--ema", type=float, default=0.99)
    p.add_argument("--ramp", type=int, default=400)
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


def noisy(x):
    return x * (1 + 0.1 * torch.randn(x.shape[0], 1, 1, 1)) + 0.05 * torch.randn_like(x)


@torch.no_grad()
def follow(teacher, student, decay):
    t, s = list(teacher.parameters()), list(student.parameters())
    torch._foreach_lerp_(t, s, 1 - decay)
    for bt, bs in zip(teacher.buffers(), student.buffers()):
        bt.copy_(bs)


@torch.inference_mode()
def mean_iou(model, loader, signs):
    model.eval()
    hit, union = torch.zeros(signs), torch.zeros(signs)
    for x, y in loader:
        pred = model(x).argmax(1)
        inside = pred == y
        hit += torch.bincount(y[inside], minlength=signs)
        union += torch.bincount(y.flatten(), minlength=signs) + torch.bincount(pred.flatten(), minlength=signs) - torch.bincount(y[inside], minlength=signs)
    model.train()
    return (hit / union.clamp(min=1))[union > 0].mean().item()


def main():
    args = parse()
    torch.manual_seed(args.seed)
    labelled = Crops(Tablets(2, 384, args.signs, 1), args.crop, 4, True)
    unlabelled = Crops(Tablets(12, 384, args.signs, 2), args.crop, 2, False)
    held_out = Crops(Tablets(1, 384, args.signs, 3), args.crop, 48, True)
    labelled_loader = DataLoader(labelled, batch_size=args.labelled_batch, shuffle=True, drop_last=True)
    unlabelled_loader = DataLoader(unlabelled, batch_size=args.unlabelled_batch, shuffle=True, drop_last=True)
    val_loader = DataLoader(held_out, batch_size=12)
    print(f"{len(labelled)} labelled crops, {len(unlabelled)} unlabelled")

    student = SignNet(args.signs)
    teacher = copy.deepcopy(student)
    for p in teacher.parameters():
        p.requires_grad_(False)
    opt = torch.optim.SGD(student.parameters(), lr=args.lr, momentum=0.9, nesterov=True, weight_decay=1e-4)

    step, t0 = 0, time.time()
    while step < args.steps:
        for x, y in labelled_loader:
            u = next(iter(unlabelled_loader))
            logits = student(torch.cat([noisy(x), noisy(u)]))
            with torch.no_grad():
                target = teacher(noisy(u)).softmax(1)
            seen, unseen = logits[:len(x)], logits[len(x):]
            weight = math.exp(-5 * (1 - min(1, step / args.ramp)) ** 2)
            supervised = F.cross_entropy(seen, y)
            consistency = F.mse_loss(unseen.softmax(1), target)
            loss = supervised + 10 * weight * consistency

            opt.zero_grad()
            loss.backward()
            opt.step()
            follow(teacher, student, min(args.ema, 1 - 1 / (step + 2)))
            step += 1
            if step % 25 == 0:
                print(f"{step:5d} sup {supervised.item():.4f} cons {consistency.item():.5f} {time.time() - t0:.1f}s", flush=True)
            if step % 250 == 0:
                print(f"      val mIoU student {mean_iou(student, val_loader, args.signs):.3f} teacher {mean_iou(teacher, val_loader, args.signs):.3f}")
                torch.save({"student": student.state_dict(), "teacher": teacher.state_dict(), "step": step}, "tablets.pt")
            if step >= args.steps:
                break


if __name__ == "__main__":
    main()
