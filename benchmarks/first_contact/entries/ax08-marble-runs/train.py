"""Variational film model: a convolutional encoder whose codes obey linear dynamics."""
import argparse
import logging
import math
import os
import time

import torch
from torch import nn
from torch.nn import functional as F

from films import SIDE, FilmWindows
from filter import LinearDynamics

log = logging.getLogger("marbles")


class FilmModel(nn.Module):
    def __init__(self, seen, state):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 16, 4, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 4, 2, 1), nn.ReLU(), nn.Flatten(),
                                     nn.Linear(32 * (SIDE // 4) ** 2, 96), nn.ReLU(), nn.Linear(96, 2 * seen))
        self.spread = nn.Sequential(nn.Linear(seen, 96), nn.ReLU(), nn.Linear(96, 32 * (SIDE // 4) ** 2), nn.ReLU())
        self.paint = nn.Sequential(nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(16, 1, 4, 2, 1))
        self.dynamics = LinearDynamics(state, seen)

    def encode(self, films):
        batch, length = films.shape[:2]
        mean, log_var = self.encoder(films.flatten(0, 1)).view(batch, length, -1).chunk(2, -1)
        return mean, log_var.clamp(-8, 2)

    def decode(self, codes):
        batch, length = codes.shape[:2]
        pictures = self.paint(self.spread(codes.flatten(0, 1)).view(-1, 32, SIDE // 4, SIDE // 4))
        return pictures.view(batch, length, 1, SIDE, SIDE)

    def losses(self, films):
        mean, log_var = self.encode(films)
        codes = mean + torch.exp(0.5 * log_var) * torch.randn_like(mean)
        picture_loss = F.binary_cross_entropy_with_logits(self.decode(codes), films, reduction="sum") / len(films)
        entropy = 0.5 * (log_var + 1 + math.log(2 * math.pi)).sum((1, 2))
        likelihood, _ = self.dynamics(codes)
        return picture_loss, -(likelihood + entropy).mean()


@torch.no_grad()
def evaluate(model, windows, rounds=4):
    model.eval()
    pictures = motion = 0.0
    for _ in range(rounds):
        a, b = model.losses(windows.draw(32))
        pictures, motion = pictures + a.item() / rounds, motion + b.item() / rounds
    model.train()
    return pictures, motion


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--films", type=int, default=60)
    p.add_argument("--length", type=int, default=500)
    p.add_argument("--window", type=int, default=16)
    p.add_argument("--batch", type=int, default=40)
    p.add_argument("--state", type=int, default=12)
    p.add_argument("--seen", type=int, default=6)
    p.add_argument("--steps", type=int, default=800)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--motion-weight", type=float, default=0.5)
    p.add_argument("--print-every", type=int, default=5)
    args = p.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.manual_seed(77)

    train, held = FilmWindows(args.films, args.length, args.window, seed=70), FilmWindows(8, args.length, args.window, seed=71)
    model = FilmModel(args.seen, args.state)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    os.makedirs("saved", exist_ok=True)
    began = time.time()
    for step in range(1, args.steps + 1):
        films = train.draw(args.batch)
        picture_loss, motion_loss = model.losses(films)
        optimizer.zero_grad()
        picture_loss.backward(retain_graph=True)
        (args.motion_weight * motion_loss).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 50.0)
        optimizer.step()
        if step % args.print_every == 0:
            log.info("step %d pictures %.4f motion %.4f", step, picture_loss.item(), motion_loss.item())
        if step % 200 == 0:
            pictures, motion = evaluate(model, held)
            log.info("step %d held out: pictures %.3f motion %.3f (%.1f s)", step, pictures, motion, time.time() - began)
            torch.save({"model": model.state_dict(), "step": step}, "saved/films.pt")


if __name__ == "__main__":
    main()
