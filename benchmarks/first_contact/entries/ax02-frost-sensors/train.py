"""Hours-ahead temperatures for frost warnings."""
import argparse
import copy
import logging
import os
import time

import numpy as np
import torch

from layers import FrostNet
from orchard import Nights, make_site

logger = logging.getLogger("frost")


def frost_weighted_loss(prediction, target, below=1.0):
    loss = 0.0
    for hour in range(target.shape[-1]):
        error = prediction[..., hour] - target[..., hour]
        weight = 1.0 + 2.0 * torch.sigmoid(2.0 * (below - target[..., hour]))
        loss = loss + (weight * torch.nn.functional.huber_loss(error, torch.zeros_like(error), reduction="none")).mean()
    return loss / target.shape[-1]


class Trainer:
    def __init__(self, args):
        self.args = args
        self.site = make_site(args.sensors, args.neighbours, seed=1)
        self.train_set = Nights(self.site, args.nights, args.hours, seed=2)
        self.valid_set = Nights(self.site, 30, args.hours, seed=3)
        self.rng = np.random.default_rng(4)
        self.net = FrostNet(self.site, args.past, args.ahead, args.width)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=args.lr)
        self.best, self.best_state = float("inf"), None

    def epoch(self, number):
        losses = []
        order = self.rng.permutation(self.args.nights)
        for i in range(0, len(order) - self.args.batch + 1, self.args.batch):
            inputs, targets = self.train_set.sample(order[i:i + self.args.batch], self.args.past, self.args.ahead, self.rng)
            self.optimizer.zero_grad()
            loss = frost_weighted_loss(self.net(inputs), targets)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.net.parameters(), 5.0)
            self.optimizer.step()
            losses.append(loss.item())
            if len(losses) % 20 == 0:
                logger.info("epoch %d step %d loss %.6f", number, len(losses), np.mean(losses[-20:]))
        return float(np.mean(losses))

    @torch.no_grad()
    def validate(self):
        rng = np.random.default_rng(5)
        hits, frosts, square = 0, 0, 0.0
        for i in range(0, 30, self.args.batch):
            inputs, targets = self.valid_set.sample(np.arange(i, i + self.args.batch), self.args.past, self.args.ahead, rng)
            output = self.net(inputs).double()
            square += float(((output - targets) ** 2).mean())
            frost = targets < 0
            frosts += int(frost.sum())
            hits += int((frost & (output < 0.5)).sum())
        return (square * self.args.batch / 30) ** 0.5, hits / max(frosts, 1)

    def run(self):
        os.makedirs("output", exist_ok=True)
        for number in range(self.args.epochs):
            began = time.time()
            loss = self.epoch(number)
            rmse, recall = self.validate()
            logger.info("epoch %d loss %.4f rmse %.3f recall %.3f (%.1f s)", number, loss, rmse, recall, time.time() - began)
            if rmse < self.best:
                self.best, self.best_state = rmse, copy.deepcopy(self.net.state_dict())
                torch.save(self.best_state, "output/frost.pt")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--sensors", type=int, default=900)
    parser.add_argument("--neighbours", type=int, default=12)
    parser.add_argument("--nights", type=int, default=256)
    parser.add_argument("--hours", type=int, default=14)
    parser.add_argument("--past", type=int, default=6)
    parser.add_argument("--ahead", type=int, default=3)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--batch", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--lr", type=float, default=1e-3)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    torch.manual_seed(0)
    Trainer(arguments).run()
