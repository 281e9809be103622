import argparse
import copy
import time

import torch
import torch.nn.functional as F

from unet import UNet


def blobs(count, size=16):
    """Pictures with two soft round spots."""
    axis = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(axis, axis, indexing="ij")
    centre = torch.rand(count, 2, 2, 1, 1) * 1.4 - 0.7
    width = 0.15 + 0.25 * torch.rand(count, 2, 1, 1)
    spots = torch.exp(-((xx - centre[:, :, 0]) ** 2 + (yy - centre[:, :, 1]) ** 2) / width ** 2)
    return (spots.amax(1, keepdim=True) * 2 - 1)


class Diffusion:
    def __init__(self, steps=200):
        self.steps = steps
        beta = torch.linspace(1e-4, 0.05, steps)
        self.keep = torch.cumprod(1 - beta, 0)
        self.root_keep, self.root_noise = self.keep.sqrt(), (1 - self.keep).sqrt()

    def loss(self, model, x):
        t = torch.randint(self.steps, (len(x),))
        noise = torch.randn_like(x)
        noisy = self.root_keep[t].view(-1, 1, 1, 1) * x + self.root_noise[t].view(-1, 1, 1, 1) * noise
        return F.mse_loss(model(noisy, t), noise)

    @torch.inference_mode()
    def sample(self, model, count, size=16, hops=20):
        """Deterministic sampling with few hops."""
        x = torch.randn(count, 1, size, size)
        stops = torch.linspace(self.steps - 1, 0, hops).long().tolist()
        for now, then in zip(stops, stops[1:] + [None]):
            eps = model(x, torch.full((count,), now))
            clean = ((x - self.root_noise[now] * eps) / self.root_keep[now]).clamp(-1, 1)
            x = clean if then is None else self.root_keep[then] * clean + self.root_noise[then] * eps
        return x


class Ema:
    def __init__(self, model, decay=0.995):
        self.model = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay = decay
        self.pairs = (list(self.model.parameters()), list(model.parameters()))

    @torch.no_grad()
    def update(self):
        torch._foreach_lerp_(self.pairs[0], self.pairs[1], 1 - self.decay)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=500)
    ap.add_argument("--batch", type=int, default=48)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--images", type=int, default=8000)
    ap.add_argument("--report", type=int, default=50)
    args = ap.parse_args()

    torch.manual_seed(4)
    data = blobs(args.images)
    diffusion = Diffusion()
    model = UNet().to(memory_format=torch.channels_last)
    ema = Ema(model)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4, fused=True)

    began = time.time()
    total = 0.0
    for step in range(1, args.steps + 1):
        x = data[torch.randint(len(data), (args.batch,))]
        loss = diffusion.loss(model, x)
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        ema.update()
        total += loss.item()
        if step % args.report == 0:
            print(f"step {step}: loss {total / args.report:.4f}  {1000 * (time.time() - began) / step:.0f} ms/step")
            total = 0.0
        if step % 250 == 0:
            pictures = diffusion.sample(ema.model, 16)
            print(f"   samples: mean {pictures.mean():.3f} (data {data.mean():.3f}), std {pictures.std():.3f} (data {data.std():.3f})")


if __name__ == "__main__":
    main()
