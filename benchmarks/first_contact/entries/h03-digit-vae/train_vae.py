import argparse
import time

import torch

from model import VAE, elbo_terms

SEGMENTS = torch.tensor([  # seven-segment codes of the ten digits
    [1, 1, 1, 0, 1, 1, 1], [0, 0, 1, 0, 0, 1, 0], [1, 0, 1, 1, 1, 0, 1], [1, 0, 1, 1, 0, 1, 1], [0, 1, 1, 1, 0, 1, 0],
    [1, 1, 0, 1, 0, 1, 1], [1, 1, 0, 1, 1, 1, 1], [1, 0, 1, 0, 0, 1, 0], [1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 1, 1]])


def synthetic_digits(n, side=28):
    digit = torch.randint(10, (n,))
    ends = torch.tensor([[-1, -2, 1, -2], [-1, -2, -1, 0], [1, -2, 1, 0], [-1, 0, 1, 0], [-1, 0, -1, 2], [1, 0, 1, 2], [-1, 2, 1, 2]]) * 0.3
    axis = torch.linspace(-1, 1, side)
    y, x = torch.meshgrid(axis, axis, indexing="ij")
    shift, slant = torch.rand(n, 2) * 0.4 - 0.2, torch.rand(n, 1, 1) * 0.6 - 0.3
    width = torch.rand(n, 1, 1) * 0.05 + 0.06
    xs = x - shift[:, 0, None, None] + slant * y
    ys = y - shift[:, 1, None, None]
    image = torch.zeros(n, side, side)
    for s in range(7):
        x0, y0, x1, y1 = ends[s]
        dx, dy = x1 - x0, y1 - y0
        t = (((xs - x0) * dx + (ys - y0) * dy) / (dx * dx + dy * dy)).clamp(0, 1)
        distance = ((xs - x0 - t * dx) ** 2 + (ys - y0 - t * dy) ** 2).sqrt()
        on = SEGMENTS[digit, s].float()[:, None, None]
        image = torch.maximum(image, on * (1.5 - distance / width).clamp(0, 1))
    return image.flatten(1)


class Trainer:
    def __init__(self, args):
        torch.manual_seed(args.seed)
        data = synthetic_digits(args.samples + 512)
        self.train_x, self.test_x = data[:-512], data[-512:]
        self.model = VAE(data.shape[1])
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr, fused=True)
        self.args = args

    def run_epoch(self, beta):
        sums = torch.zeros(2)
        batches = torch.randperm(len(self.train_x)).split(self.args.batch)
        for index in batches:
            x = self.train_x[index]
            logits, mu, logvar = self.model(x)
            reconstruction, kl = elbo_terms(logits, x, mu, logvar)
            self.optimizer.zero_grad()
            (reconstruction + beta * kl).backward()
            self.optimizer.step()
            sums += torch.stack([reconstruction.detach(), kl.detach()])
        return (sums / len(batches)).tolist()

    @torch.no_grad()
    def test(self):
        self.model.eval()
        logits, mu, logvar = self.model(self.test_x)
        r, k = elbo_terms(logits, self.test_x, mu, logvar)
        self.model.train()
        return (r + k).item()

    def fit(self):
        for epoch in range(1, self.args.epochs + 1):
            start = time.time()
            r, k = self.run_epoch(beta=min(1.0, epoch / 5))
            print(f"epoch {epoch:2d}  reconstruction {r:7.2f}  kl {k:6.2f}  test -elbo {self.test():7.2f}  ({time.time() - start:.1f}s)")
        with torch.no_grad():
            ink = self.model.sample(64).mean(1)
        print("mean ink of 64 samples:", round(ink.mean().item(), 4), "of the data:", round(self.train_x.mean().item(), 4))


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--samples", type=int, default=12800)
    p.add_argument("--batch", type=int, default=256)
    p.add_argument("--epochs", type=int, default=70)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=0)
    Trainer(p.parse_args()).fit()
