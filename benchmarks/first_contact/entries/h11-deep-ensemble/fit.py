import argparse
import time

import torch

from networks import Ensemble


def simulate_boilers(rows, inputs, generator):
    x = torch.randn(rows, inputs, generator=generator)
    direction = torch.randn(inputs, 6, generator=generator) / inputs ** 0.5
    z = x @ direction
    load = z[:, 0].sin() * 2 + z[:, 1] * z[:, 2] + 0.5 * z[:, 3].square() - z[:, 4].tanh()
    noise = 0.1 + 0.4 * torch.sigmoid(2 * z[:, 5])
    return x, load + noise * torch.randn(rows, generator=generator)


def negative_log_likelihood(mean, log_variance, y):
    return 0.5 * (log_variance + (y - mean).square() * (-log_variance).exp()).mean(1).sum()


class Trainer:
    def __init__(self, options):
        generator = torch.Generator().manual_seed(options.seed)
        torch.manual_seed(options.seed)
        x, y = simulate_boilers(options.rows, options.inputs, generator)
        y = (y - y.mean()) / y.std()
        cut = options.rows * 9 // 10
        self.x, self.y = x[:cut], y[:cut]
        self.test_x, self.test_y = x[cut:], y[cut:]
        self.options = options
        self.model = Ensemble(options.members, options.inputs)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=options.lr, fused=True)

    def step(self):
        rows = torch.randint(len(self.x), (self.options.members, self.options.batch))
        mean, log_variance = self.model(self.x[rows])
        loss = negative_log_likelihood(mean, log_variance, self.y[rows])
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def report(self, step, loss, began):
        centre, variance = self.model.predict(self.test_x)
        error = self.test_y - centre
        inside = (error.abs() < 1.96 * variance.sqrt()).float().mean()
        print(f"{step:5d}: nll {loss:7.3f}  rmse {error.square().mean().sqrt().item():.3f}  "
              f"in 95 % band {inside.item():.3f}  {time.time() - began:.1f} s")

    def fit(self):
        began, every = time.time(), self.options.report
        total = torch.zeros(())
        for step in range(1, self.options.steps + 1):
            total += self.step()
            if step % every == 0:
                self.report(step, total.item() / every / self.options.members, began)
                total.zero_()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Deep ensemble for heteroscedastic regression")
    parser.add_argument("--members", type=int, default=8)
    parser.add_argument("--rows", type=int, default=20000)
    parser.add_argument("--inputs", type=int, default=24)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--steps", type=int, default=2700)
    parser.add_argument("--report", type=int, default=300)
    parser.add_argument("--seed", type=int, default=2)
    Trainer(parser.parse_args()).fit()
