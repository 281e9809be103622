import argparse
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F


class Denoiser(nn.Module):
    """Speech enhancement mask estimator on STFT frames."""

    def __init__(self, bins=129, hidden=256):
        super().__init__()
        self.rnn = nn.GRU(bins, hidden, batch_first=True)
        self.mask = nn.Sequential(nn.Linear(hidden, 2 * hidden), nn.ReLU(), nn.Linear(2 * hidden, bins), nn.Sigmoid())

    def forward(self, mag):
        h, _ = self.rnn(mag)
        return self.mask(h)


class CheckpointManager:
    def __init__(self, root, keep=3):
        self.root, self.keep, self.saved = root, keep, []

    def save(self, step, model, opt, loss):
        path = os.path.join(self.root, f"step_{step:06d}.pt")
        torch.save({"step": step, "loss": loss, "model": model.state_dict(), "optimizer": opt.state_dict()}, path)
        self.saved.append(path)
        while len(self.saved) > self.keep:
            os.unlink(self.saved.pop(0))
        return path


class Trainer:
    def __init__(self, args):
        torch.manual_seed(args.seed)
        self.args = args
        self.model = Denoiser()
        self.opt = torch.optim.Adam(self.model.parameters(), lr=args.lr)
        self.ckpt = CheckpointManager(args.out or tempfile.mkdtemp(prefix="denoise-"))
        self.best = float("inf")
        self.smooth = None

    def batch(self):
        b, t = self.args.batch, self.args.frames
        env = torch.rand(b, t, 1).cumsum(1).cos().abs()
        clean = env * torch.rand(b, 1, 129)
        return clean + 0.3 * torch.rand(b, t, 129), clean

    def fit(self):
        for step in range(1, self.args.steps + 1):
            noisy, clean = self.batch()
            est = self.model(noisy) * noisy
            loss = F.l1_loss(est, clean) + 0.1 * F.mse_loss(est.clamp(min=1e-4).log(), clean.clamp(min=1e-4).log())
            self.opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 3.0)
            self.opt.step()
            value = loss.item()
            self.smooth = value if self.smooth is None else 0.9 * self.smooth + 0.1 * value
            if self.smooth < self.best:
                self.best = self.smooth
            if step % self.args.save_every == 0:
                self.ckpt.save(step, self.model, self.opt, value)
            if step % 50 == 0:
                print(f"step {step} loss {self.smooth:.4f} best {self.best:.4f}")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=2200)
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--frames", type=int, default=16)
    p.add_argument("--lr", type=float, default=5e-4)
    p.add_argument("--save-every", type=int, default=2)
    p.add_argument("--out", default="")
    p.add_argument("--seed", type=int, default=1)
    Trainer(p.parse_args()).fit()
