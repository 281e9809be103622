"""Catch composition by depth from echograms."""
import argparse
import logging
import math
import time

import numpy as np
import torch
from torch.utils.data import DataLoader

from catchnet import HaulBatches, HaulEncoder, HaulSeason, MixtureHead, mixture_nll
from catchnet.density import point_estimate

log = logging.getLogger("catch")


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=25)
    p.add_argument("--batch", type=int, default=40)
    p.add_argument("--components", type=int, default=5)
    p.add_argument("--width", type=int, default=160)
    p.add_argument("--lr", type=float, default=6e-4)
    p.add_argument("--seed", type=int, default=3)
    return p.parse_args()


class CatchModel(torch.nn.Module):
    def __init__(self, args):
        super().__init__()
        self.encoder = HaulEncoder(16, 24, 12, args.width)
        self.head = MixtureHead(args.width, 6, args.components)

    def forward(self, echo, station):
        return self.head(self.encoder(echo, station))


@torch.no_grad()
def validate(model, loader):
    model.eval()
    nll, error, n = 0.0, 0.0, 0
    for echo, station, catch in loader:
        log_weight, mean, variance = model(echo, station)
        nll += mixture_nll(log_weight, mean, variance, catch).item()
        error += (point_estimate(log_weight, mean) - catch).square().mean().item()
        n += 1
    model.train()
    return nll / n, math.sqrt(error / n)


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.manual_seed(args.seed)
    season = HaulSeason("season.npz")
    split = np.load("split.npz")
    train = DataLoader(season, sampler=HaulBatches(split["train"], args.batch, args.seed), batch_size=None)
    valid = DataLoader(season, sampler=HaulBatches(split["valid"], 200), batch_size=None)

    model = CatchModel(args)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.epochs * len(train))
    best = float("inf")
    for epoch in range(args.epochs):
        start, total = time.time(), 0.0
        for echo, station, catch in train:
            loss = mixture_nll(*model(echo, station), catch)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            schedule.step()
            total += loss.item()
        nll, rmse = validate(model, valid)
        log.info("epoch %d train %.4f valid %.4f rmse %.4f (%.1fs)", epoch, total / len(train), nll, rmse, time.time() - start)
        if nll < best:
            best = nll
            torch.save(model.state_dict(), "catch.pt")


if __name__ == "__main__":
    main()
