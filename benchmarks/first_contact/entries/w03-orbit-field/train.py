"""Fit a radiance field to pictures taken from an orbit around a scene."""
import argparse
import logging
import math
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from field import RadianceField, render
from rig import PictureSet, camera_rays

log = logging.getLogger("orbit")


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--steps", type=int, default=900)
    p.add_argument("--pictures", type=int, default=24)
    p.add_argument("--size", type=int, default=400)
    p.add_argument("--rays", type=int, default=384)
    p.add_argument("--samples", type=int, default=24)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--precrop", type=int, default=80, help="steps with rays from the middle only")
    p.add_argument("--preview-every", type=int, default=300)
    p.add_argument("--preview-size", type=int, default=96)
    p.add_argument("--log-every", type=int, default=50)
    p.add_argument("--out", type=Path, default=Path("runs"))
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


@torch.no_grad()
def preview(field, pose, args, focal, chunk=4096):
    scale = args.preview_size / args.size
    origins, directions = camera_rays(pose, args.preview_size, args.preview_size, focal * scale)
    origins, directions = origins.reshape(-1, 3), directions.reshape(-1, 3)
    parts = [render(field, o, d, args.samples, 2.0, 6.0, jitter=False)
             for o, d in zip(origins.split(chunk), directions.split(chunk))]
    return torch.cat(parts).view(args.preview_size, args.preview_size, 3)


def save(picture, path):
    Image.fromarray((picture.clamp(0, 1) * 255).to(torch.uint8).numpy()).save(path)


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.manual_seed(args.seed)
    np.random.seed(args.seed)
    args.out.mkdir(exist_ok=True)

    focal = 1.1 * args.size
    pictures = PictureSet(args.pictures, args.size, focal, seed=args.seed)
    log.info("%d pictures of %d x %d", len(pictures), args.size, args.size)
    field = RadianceField()
    optimizer = torch.optim.Adam(field.parameters(), lr=args.lr, eps=1e-15, fused=True)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.1 ** (1 / args.steps))

    running = None
    for step in range(1, args.steps + 1):
        origins, directions, target = pictures.sample(args.rays, centre_only=step <= args.precrop)
        colour = render(field, origins, directions, args.samples, 2.0, 6.0, jitter=True)
        loss = (colour - target).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        schedule.step()
        running = loss.detach() if running is None else running.lerp(loss.detach(), 0.05)
        if step % args.log_every == 0:
            log.info("step %d loss %.5f psnr %.2f", step, running.item(), -10 * math.log10(running.item()))
        if step % args.preview_every == 0:
            save(preview(field, pictures.poses[0], args, focal), args.out / f"step_{step:05d}.png")
            torch.save({"field": field.state_dict(), "step": step}, args.out / "field.pt")


if __name__ == "__main__":
    main()
