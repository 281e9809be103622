"""Weaving faults found by an autoencoder of faultless cloth: what it cannot rebuild is a fault."""
import argparse

import torch
import torch.nn as nn

from losses import SSIMLoss


def weave(count, size, generator, faulty=False):
    """Cloth with warp and weft of random colours and density; a missing thread, a knot or a float if faulty."""
    rows = torch.arange(size).view(1, size, 1).float()
    cols = torch.arange(size).view(1, 1, size).float()
    warp = 0.6 + 0.5 * torch.rand(count, 1, 1, generator=generator)
    weft = 0.6 + 0.5 * torch.rand(count, 1, 1, generator=generator)
    over = torch.sin(warp * cols) * torch.sin(weft * rows) > 0
    colours = torch.rand(count, 2, 3, 1, 1, generator=generator)
    cloth = torch.where(over.unsqueeze(1), colours[:, 0], colours[:, 1])
    cloth = cloth * (0.8 + 0.2 * torch.sin(2 * warp * cols).abs()).unsqueeze(1)
    cloth = cloth + 0.03 * torch.randn(cloth.shape, generator=generator)
    if faulty:
        for picture in cloth:
            top, left, long = torch.randint(4, size - 20, (3,), generator=generator).tolist()
            picture[:, top:top + 2, left:left + long] = picture.mean()
    return cloth.clamp(0, 1)


def down(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 4, stride=2, padding=1), nn.GroupNorm(4, cout), nn.LeakyReLU(0.1))


def up(cin, cout):
    return nn.Sequential(nn.ConvTranspose2d(cin, cout, 4, stride=2, padding=1), nn.GroupNorm(4, cout), nn.LeakyReLU(0.1))


class ClothAE(nn.Module):
    def __init__(self, width=24, code=64):
        super().__init__()
        self.encode = nn.Sequential(down(3, width), down(width, 2 * width), down(2 * width, 3 * width), nn.Conv2d(3 * width, code, 1))
        self.decode = nn.Sequential(nn.Conv2d(code, 3 * width, 1), up(3 * width, 2 * width), up(2 * width, width),
                                    up(width, width), nn.Conv2d(width, 3, 3, padding=1), nn.Sigmoid())

    def forward(self, x):
        return self.decode(self.encode(x))


class Trainer:
    def __init__(self, opt):
        self.opt = opt
        self.generator = torch.Generator().manual_seed(opt.seed)
        self.cloth = weave(opt.pieces, opt.size, self.generator)
        self.good = weave(64, opt.size, self.generator)
        self.bad = weave(64, opt.size, self.generator, faulty=True)
        self.model = ClothAE(opt.width)
        self.ssim = SSIMLoss()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=opt.lr, betas=(0.9, 0.99))
        self.warm = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda s: min(1.0, (s + 1) / 100))

    def batches(self):
        order = torch.randperm(len(self.cloth), generator=self.generator)
        for rows in order.split(self.opt.micro_batch):
            if len(rows) == self.opt.micro_batch:
                yield self.cloth[rows]

    def loss(self, x):
        noisy = x + 0.1 * torch.randn(x.shape, generator=self.generator)
        rebuilt = self.model(noisy)
        return self.opt.alpha * self.ssim(rebuilt, x) + (1 - self.opt.alpha) * (rebuilt - x).abs().mean()

    def epoch(self):
        seen, updates = torch.zeros(()), 0
        self.optimizer.zero_grad()
        for i, x in enumerate(self.batches(), 1):
            loss = self.loss(x) / self.opt.accumulate
            loss.backward()
            seen += loss.detach()
            if i % self.opt.accumulate == 0:
                self.optimizer.step()
                self.optimizer.zero_grad()
                self.warm.step()
                updates += 1
        return seen.item() / updates

    @torch.no_grad()
    def auroc(self):
        """How often a faulty piece is rebuilt worse than a good one."""
        self.model.eval()
        worst = []
        for cloth in (self.good, self.bad):
            gap = (self.model(cloth) - cloth).abs().mean(1, keepdim=True)
            worst.append(nn.functional.avg_pool2d(gap, 5, 1).flatten(1).amax(1))
        self.model.train()
        return (worst[1][:, None] > worst[0][None, :]).float().mean().item()


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--pieces", type=int, default=480)
    p.add_argument("--size", type=int, default=48)
    p.add_argument("--width", type=int, default=16)
    p.add_argument("--micro-batch", type=int, default=2)
    p.add_argument("--accumulate", type=int, default=4)
    p.add_argument("--alpha", type=float, default=0.8)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--epochs", type=int, default=12)
    p.add_argument("--seed", type=int, default=1801)
    opt = p.parse_args()
    torch.manual_seed(opt.seed)
    trainer = Trainer(opt)
    for n in range(opt.epochs):
        mean = trainer.epoch()
        if n % 4 == 3:
            print(f"epoch {n:3d}  loss {mean:.4f}  AUROC {trainer.auroc():.3f}")
            torch.save(trainer.model.state_dict(), "cloth.pt")
