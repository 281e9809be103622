import argparse
import time

import torch
import torch.nn.functional as F

from ema import EMA
from glyphs import make_glyphs
from quality import FrechetDistance
from unet import VelocityNet


def flow_loss(model, x1, y, drop=0.1):
    """straight-line flow matching with label dropout for guidance"""
    x0 = torch.randn_like(x1)
    t = torch.rand(len(x1))
    s = t[:, None, None, None]
    y = torch.where(torch.rand(len(y)) < drop, model.classes, y)
    v = model((1 - s) * x0 + s * x1, t, y)
    return F.mse_loss(v, x1 - x0)


@torch.no_grad()
def sample(model, y, steps=8, guidance=1.5, generator=None):
    x = torch.randn(len(y), 1, 16, 16, generator=generator)
    labels = torch.cat([y, torch.full_like(y, model.classes)])
    for k in range(steps):
        t = torch.full((2 * len(y),), k / steps)
        with_y, without = model(torch.cat([x, x]), t, labels).chunk(2)
        x = x + (without + guidance * (with_y - without)) / steps
    return x.clamp(-1, 1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=1600)
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--n-train", type=int, default=17000)
    ap.add_argument("--sample-every", type=int, default=50)
    ap.add_argument("--n-sample", type=int, default=32)
    args = ap.parse_args()
    torch.manual_seed(0)

    images, labels = make_glyphs(args.n_train)
    model = VelocityNet().to(memory_format=torch.channels_last)
    ema = EMA(model)
    frechet = FrechetDistance(images)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4, fused=True)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 100))

    t0, total = time.time(), 0.0
    for step in range(1, args.steps + 1):
        idx = torch.randint(0, len(images), (args.batch_size,))
        loss = flow_loss(model, images[idx], labels[idx])
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        ema.update(model)
        total += loss.item()
        if step % args.sample_every == 0:
            y = torch.arange(args.n_sample) % model.classes
            fake = sample(ema.shadow, y, generator=torch.Generator().manual_seed(5))
            print(f"step {step} loss {total / args.sample_every:.4f} fd {frechet(fake):.3f} "
                  f"{(time.time() - t0) / step * 1e3:.1f} ms/step", flush=True)
            total = 0.0
    torch.save({"model": model.state_dict(), "ema": ema.shadow.state_dict()}, "flow.pt")


if __name__ == "__main__":
    main()
