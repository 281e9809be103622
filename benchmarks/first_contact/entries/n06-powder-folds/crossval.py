"""K-fold calibration of constituents from spectra; prints the error of each fold and the pooled error."""
import argparse
import copy

import torch

from model import Calibration
from spectra import Scaler, draw, normal_variate


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--samples", type=int, default=5000)
    p.add_argument("--points", type=int, default=350)
    p.add_argument("--folds", type=int, default=5)
    p.add_argument("--epochs", type=int, default=25)
    p.add_argument("--batch-size", type=int, default=256)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--jitter", type=float, default=0.05)
    p.add_argument("--check-every", type=int, default=5)
    p.add_argument("--patience", type=int, default=3)
    p.add_argument("--seed", type=int, default=4)
    return p.parse_args()


def likelihood_loss(mean, logvar, target):
    return 0.5 * (logvar + (target - mean).square() * torch.exp(-logvar)).mean()


class Fold:
    """One training: its own scaling, model and optimizer, and the best weights seen so far."""

    def __init__(self, x, y, train, test, args, seed):
        torch.manual_seed(seed)
        self.args = args
        self.scale_x, self.scale_y = Scaler(x[train]), Scaler(y[train])
        self.x, self.y = self.scale_x(x[train]), self.scale_y(y[train])
        self.test_x, self.test_y = self.scale_x(x[test]), y[test]
        self.model = Calibration(x.shape[1], y.shape[1])
        steps = args.epochs * (len(train) // args.batch_size)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr, weight_decay=0.02, fused=True)
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, steps)
        self.best, self.best_weights, self.waited = float("inf"), None, 0

    def epoch(self):
        size = self.args.batch_size
        order = torch.randperm(len(self.x))
        total = torch.zeros(())
        count = len(self.x) // size
        for b in range(count):
            rows = order[b * size:(b + 1) * size]
            x = self.x[rows]
            x.add_(torch.randn(x.shape[0], 1), alpha=self.args.jitter)
            mean, logvar = self.model(x)
            loss = likelihood_loss(mean, logvar, self.y[rows])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.schedule.step()
            total += loss.detach()
        return total.item() / count

    @torch.inference_mode()
    def predict(self):
        return self.scale_y.back(self.model(self.test_x)[0])

    def check(self):
        error = (self.predict() - self.test_y).square().mean().sqrt().item()
        if error < self.best:
            self.best, self.waited = error, 0
            self.best_weights = copy.deepcopy(self.model.state_dict())
        else:
            self.waited += 1
        return error

    def fit(self, name):
        for epoch in range(1, self.args.epochs + 1):
            loss = self.epoch()
            if epoch % self.args.check_every == 0:
                print(f"  {name} epoch {epoch:3d}  loss {loss:.4f}  test error {self.check():.5f}")
                if self.waited >= self.args.patience:
                    print(f"  {name} stops early")
                    break
        self.model.load_state_dict(self.best_weights)
        return self.predict()


def main():
    args = parse()
    torch.set_num_threads(1)
    spectra, amounts = draw(args.samples, args.points, args.seed)
    x = normal_variate(spectra)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(args.seed))
    parts = order.chunk(args.folds)
    pooled = torch.zeros_like(amounts)
    for k, test in enumerate(parts):
        train = torch.cat([part for i, part in enumerate(parts) if i != k])
        fold = Fold(x, amounts, train, test, args, args.seed + k)
        pooled[test] = fold.fit(f"fold {k + 1}")
        print(f"fold {k + 1}/{args.folds}: {len(train)} for training, {len(test)} held out, best error {fold.best:.5f}")
    error = (pooled - amounts).square().mean(dim=0).sqrt()
    spread = amounts.std(dim=0)
    print("pooled error " + " ".join(f"{e:.5f}" for e in error.tolist()))
    print("R2 " + " ".join(f"{r:.4f}" for r in (1 - (error / spread) ** 2).tolist()))


if __name__ == "__main__":
    main()
