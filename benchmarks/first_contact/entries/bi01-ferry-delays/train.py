"""Quantile forecasts of ferry delays.   python prepare.py && python train.py --epochs 6"""
import argparse
import logging
import time
from pathlib import Path

import torch

from delays import DelayNet, Pinball, load

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
log = logging.getLogger("delays")


class Trainer:
    def __init__(self, net, criterion, args, steps):
        self.net, self.criterion, self.args = net, criterion, args
        decay = [p for p in net.parameters() if p.ndim > 1]
        plain = [p for p in net.parameters() if p.ndim <= 1]
        self.optimizer = torch.optim.AdamW(
            [dict(params=decay, weight_decay=args.decay), dict(params=plain, weight_decay=0.0)], lr=args.lr, fused=True)
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(self.optimizer, args.lr, total_steps=steps, pct_start=0.1)
        self.running = torch.zeros(())
        self.best = float("inf")

    def step(self, cats, nums, delay):
        loss = self.criterion(self.net(cats, nums), delay)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), self.args.clip)
        self.optimizer.step()
        self.schedule.step()
        self.running += loss.detach()

    def epoch(self, table, number):
        self.net.train()
        order = torch.randperm(len(table))
        batches = order.split(self.args.batch)[:len(table) // self.args.batch]
        began = time.perf_counter()
        for i, index in enumerate(batches, 1):
            self.step(*table.take(index))
            if i % self.args.log_every == 0:
                rate = self.args.log_every * self.args.batch / (time.perf_counter() - began)
                log.info("epoch %d  %4d/%d  pinball %.4f  %.0f rows/s", number, i, len(batches),
                         self.running.item() / self.args.log_every, rate)
                self.running.zero_()
                began = time.perf_counter()

    @torch.inference_mode()
    def validate(self, table):
        self.net.eval()
        total, inside = 0.0, 0
        for cats, nums, delay in table.slices(4096):
            quantiles = self.net(cats, nums)
            total += self.criterion(quantiles, delay).item() * len(delay)
            inside += ((delay >= quantiles[:, 0]) & (delay <= quantiles[:, -1])).sum().item()
        return total / len(table), inside / len(table)

    def fit(self, train, valid):
        for number in range(self.args.epochs):
            self.epoch(train, number)
            loss, covered = self.validate(valid)
            log.info("epoch %d  valid pinball %.4f  90%% band covers %.3f", number, loss, covered)
            if loss < self.best:
                self.best = loss
                torch.save(self.net.state_dict(), Path(self.args.out) / "best.pt")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="data/crossings.npz")
    p.add_argument("--out", default="runs")
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--batch", type=int, default=512)
    p.add_argument("--width", type=int, default=512)
    p.add_argument("--depth", type=int, default=4)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--decay", type=float, default=1e-4)
    p.add_argument("--clip", type=float, default=5.0)
    p.add_argument("--log-every", type=int, default=50)
    args = p.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.manual_seed(7)
    Path(args.out).mkdir(exist_ok=True)

    train, valid, n_values = load(args.data)
    net = DelayNet(n_values, train.cats.shape[1], train.nums.shape[1], args.width, args.depth, len(LEVELS))
    log.info("%d rows, %d parameters", len(train), sum(q.numel() for q in net.parameters()))
    Trainer(net, Pinball(LEVELS), args, args.epochs * (len(train) // args.batch)).fit(train, valid)


if __name__ == "__main__":
    main()
