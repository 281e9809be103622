"""Restore images from focal stacks; the loss compares with the clean image and, blurred again, with the stack."""
import argparse
import os

import torch
import torch.nn.functional as F

from cells import Slides, filaments
from net import Restorer
from optics import Microscope


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--size", type=int, default=128)
    p.add_argument("--slides", type=int, default=96)
    p.add_argument("--steps", type=int, default=750)
    p.add_argument("--batch-size", type=int, default=6)
    p.add_argument("--width", type=int, default=16)
    p.add_argument("--consistency", type=float, default=0.5)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--log-every", type=int, default=25)
    p.add_argument("--eval-every", type=int, default=150)
    p.add_argument("--out", default="run")
    p.add_argument("--seed", type=int, default=1)
    return p.parse_args()


def psnr(a, b):
    return 10 * torch.log10(b.amax() ** 2 / F.mse_loss(a, b))


@torch.inference_mode()
def validate(model, stacks, clean):
    model.eval()
    restored = torch.cat([model(part) for part in stacks.split(4)])
    model.train()
    return psnr(restored, clean).item()


def main():
    args = parse()
    torch.manual_seed(args.seed)
    os.makedirs(args.out, exist_ok=True)
    generator = torch.Generator().manual_seed(args.seed)
    microscope = Microscope(args.size)
    images = filaments(args.slides, args.size, generator)
    slides = Slides(images[8:], microscope, generator)
    clean_valid = images[:8]
    stacks_valid = microscope.expose(clean_valid)

    model = Restorer(microscope.planes, args.width).to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, fused=True)
    best = 0.0
    mean = torch.zeros(2)
    for step in range(1, args.steps + 1):
        clean, stack = slides.draw(args.batch_size)
        restored = model(stack)
        fidelity = F.l1_loss(restored, clean)
        reblurred = F.mse_loss(microscope.blur(restored), stack)
        loss = fidelity + args.consistency * reblurred
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        mean += torch.stack([fidelity.detach(), reblurred.detach()])
        if step % args.log_every == 0:
            a, b = (mean / args.log_every).tolist()
            mean.zero_()
            print(f"step {step} l1 {a:.5f} reblurred {b:.5f}", flush=True)
        if step % args.eval_every == 0:
            score = validate(model, stacks_valid, clean_valid)
            print(f"  valid psnr {score:.2f} dB", flush=True)
            if score > best:
                best = score
                torch.save(model.state_dict(), os.path.join(args.out, "best.pt"))


if __name__ == "__main__":
    main()
