import argparse
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from data import Glyphs
from diffusion import EMA, Diffusion
from unet import UNet

HERE = Path(__file__).parent


class Trainer:
    def __init__(self, args):
        self.args = args
        self.diffusion = Diffusion(args.timesteps)
        self.model = UNet(args.width).to(memory_format=torch.channels_last)
        self.ema = EMA(self.model, UNet(args.width).to(memory_format=torch.channels_last))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr, fused=True)
        self.train_loader = DataLoader(Glyphs(args.images, args.size, 0), args.batch_size, shuffle=True,
                                       drop_last=True, collate_fn=lambda batch: batch)
        self.valid = Glyphs(args.batch_size, args.size, 1)
        generator = torch.Generator().manual_seed(0)
        self.valid_t = torch.linspace(0, args.timesteps - 1, len(self.valid)).long()
        self.valid_eps = torch.randn(self.valid.images.shape, generator=generator)

    def loss(self, model, x, labels, t, eps):
        noisy = self.diffusion.add_noise(x, t, eps).contiguous(memory_format=torch.channels_last)
        return F.mse_loss(model(noisy, t, labels), eps)

    def train_step(self, x, labels):
        labels = torch.where(torch.rand(len(labels)) < 0.1, 10, labels)
        t = torch.randint(self.args.timesteps, (len(x),))
        loss = self.loss(self.model, x, labels, t, torch.randn_like(x))
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.ema.update()
        return loss.item()

    @torch.inference_mode()
    def validate(self):
        return self.loss(self.ema.shadow, self.valid.images, self.valid.labels, self.valid_t, self.valid_eps).item()

    def fit(self):
        step = 0
        for epoch in range(1, self.args.epochs + 1):
            start, total = time.time(), 0.0
            for x, labels in self.train_loader:
                step += 1
                loss = self.train_step(x, labels)
                total += loss
                if step % self.args.log_every == 0:
                    print(f"epoch {epoch} step {step} loss {loss:.4f}", flush=True)
            n = len(self.train_loader)
            print(f"epoch {epoch} train {total / n:.4f} valid (ema) {self.validate():.4f} "
                  f"{1000 * (time.time() - start) / n:.0f} ms/step", flush=True)
        samples = self.diffusion.ddim(self.ema.shadow, torch.arange(10), self.args.size, self.args.sample_steps)
        torch.save({"model": self.model.state_dict(), "ema": self.ema.shadow.state_dict(), "samples": samples},
                   self.args.out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, default=1600)
    parser.add_argument("--size", type=int, default=32)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--timesteps", type=int, default=1000)
    parser.add_argument("--sample-steps", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--log-every", type=int, default=25)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default=str(HERE / "glyphs.pt"))
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    Trainer(args).fit()
