"""Hinge-loss DCGAN on procedural sprites."""
import argparse
import tempfile
import time

import torch

from album import Album
from nets import Discriminator, Generator
from objectives import critic_objective, generator_objective
from sprites import endless, make_sprites


class GanTrainer:
    def __init__(self, args):
        self.generator, self.critic = Generator(args.latent, args.width), Discriminator(args.width)
        for net in (self.generator, self.critic):
            net.to(memory_format=torch.channels_last)
        options = dict(lr=args.lr, betas=(0.5, 0.999), fused=True)
        self.generator_opt = torch.optim.Adam(self.generator.parameters(), **options)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), **options)

    def critic_step(self, real):
        fake = self.generator(self.generator.noise(len(real)))
        loss = critic_objective(self.critic, real, fake)
        self.critic_opt.zero_grad()
        loss.backward()
        self.critic_opt.step()
        return loss.detach()

    def generator_step(self, n):
        fake = self.generator(self.generator.noise(n))
        loss = generator_objective(self.critic, fake)
        self.generator_opt.zero_grad()
        loss.backward()
        self.generator_opt.step()
        return loss.detach()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=320)
    p.add_argument("--batch-size", type=int, default=48)
    p.add_argument("--latent", type=int, default=64)
    p.add_argument("--width", type=int, default=32)
    p.add_argument("--lr", type=float, default=2e-4)
    p.add_argument("--images", type=int, default=4000)
    p.add_argument("--out", default=None)
    args = p.parse_args()
    torch.manual_seed(0)

    batches = endless(make_sprites(args.images), args.batch_size)
    trainer = GanTrainer(args)
    album = Album(args.out or tempfile.mkdtemp(prefix="sprites-"), trainer.generator.noise(25))
    started = time.time()
    for step in range(1, args.steps + 1):
        critic_loss = trainer.critic_step(next(batches))
        generator_loss = trainer.generator_step(args.batch_size)
        album(step, trainer.generator)
        if step % 40 == 0:
            print(f"step {step:4d}  critic {critic_loss.item():.3f}  generator {generator_loss.item():.3f}  "
                  f"{(time.time() - started) / step * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
