import argparse
import time

import torch

from crackle import tiles
from network import CrackNet, tolerance_loss


def flips(images, masks):
    if torch.rand(()) < 0.5:
        images, masks = images.flip(3), masks.flip(3)
    if torch.rand(()) < 0.5:
        images, masks = images.transpose(2, 3), masks.transpose(2, 3)
    return images.contiguous(), masks.contiguous()


def validate(net, images, masks):
    net.eval()
    shared = both = 0.0
    with torch.no_grad():
        for x, y in zip(images.split(40), masks.split(40)):
            guess = net(x) > 0
            shared += (guess & (y > 0.5)).sum().item()
            both += (guess | (y > 0.5)).sum().item()
    net.train()
    return shared / max(both, 1)


if __name__ == "__main__":
    flags = argparse.ArgumentParser(description="cracks in celadon glazes")
    flags.add_argument("--steps", type=int, default=1300)
    flags.add_argument("--batch", type=int, default=16)
    flags.add_argument("--lr", type=float, default=4e-3)
    flags.add_argument("--validate-every", type=int, default=260)
    flags = flags.parse_args()

    torch.manual_seed(3)
    images, masks = tiles(420)
    held_images, held_masks = images[-60:], masks[-60:]
    images, masks = images[:-60], masks[:-60]
    net = CrackNet()
    opt = torch.optim.Adam(net.parameters(), lr=flags.lr, betas=(0.9, 0.99), fused=True)
    plan = torch.optim.lr_scheduler.PolynomialLR(opt, flags.steps, power=0.9)

    began, order, smooth = time.time(), torch.empty(0, dtype=torch.long), None
    for step in range(1, flags.steps + 1):
        if len(order) < flags.batch:
            order = torch.randperm(len(images))
        rows, order = order[:flags.batch], order[flags.batch:]
        x, y = flips(images[rows], masks[rows])
        loss = tolerance_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        plan.step()
        smooth = loss.item() if smooth is None else 0.98 * smooth + 0.02 * loss.item()
        if step % flags.validate_every == 0:
            iou = validate(net, held_images, held_masks)
            print(f"{step:5d}  loss {smooth:.4f}  IoU {iou:.3f}  {time.time() - began:.0f}s", flush=True)
            torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, "cracks.pt")
