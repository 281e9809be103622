"""Tells what kind of particle started a jet (a particle flow network)."""
import argparse
import logging
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from jets import CLASSES, JetSet
from network import ParticleFlow

log = logging.getLogger("jets")


@dataclass
class Settings:
    steps: int
    batch: int
    lr: float
    out: Path


def area_under_curve(score, positive):
    """Probability that a positive jet has the higher score, by ranks."""
    order = score.argsort()
    rank = torch.empty_like(score)
    rank[order] = torch.arange(1, len(score) + 1, dtype=score.dtype)
    p = positive.sum()
    n = len(score) - p
    return ((rank[positive].sum() - p * (p + 1) / 2) / (p * n)).item()


@torch.inference_mode()
def evaluate(model, jets, size=256):
    model.eval()
    logits = torch.cat([model(x, share) for x, share, _ in jets.batches(size)])
    model.train()
    loss = nn.functional.cross_entropy(logits, jets.labels).item()
    accuracy = (logits.argmax(1) == jets.labels).double().mean().item()
    curves = {
        name: area_under_curve(logits[:, i].double(), jets.labels == i)
        for i, name in enumerate(CLASSES)
    }
    return loss, accuracy, curves


class Trainer:
    def __init__(self, model, settings):
        self.model, self.settings = model, settings
        self.optimizer = torch.optim.AdamW(
            model.parameters(), lr=settings.lr, weight_decay=1e-3, fused=True
        )
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer, settings.lr, total_steps=settings.steps
        )
        self.criterion = nn.CrossEntropyLoss(label_smoothing=0.02)
        self.step = 0

    def train_step(self, particles, share, labels):
        loss = self.criterion(self.model(particles, share), labels)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
        self.optimizer.step()
        self.schedule.step()
        self.step += 1
        return loss.detach()

    def fit(self, train, held_out, generator):
        best = float("inf")
        while self.step < self.settings.steps:
            losses = []
            for batch in train.batches(self.settings.batch, generator):
                losses.append(self.train_step(*batch))
                if self.step % 50 == 0:
                    recent = torch.stack(losses[-50:]).mean().item()
                    log.info("step %4d  loss %.5f", self.step, recent)
                if self.step == self.settings.steps:
                    break
            loss, accuracy, curves = evaluate(self.model, held_out)
            areas = "  ".join(f"{name} {area:.4f}" for name, area in curves.items())
            log.info("step %4d  held out: loss %.5f  accuracy %.4f  %s", self.step, loss, accuracy, areas)
            if loss < best:
                best = loss
                torch.save(self.model.state_dict(), self.settings.out / "best.pt")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jets", type=int, default=25_600)
    parser.add_argument("--steps", type=int, default=900)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--out", type=Path, default=Path("runs"))
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.manual_seed(1)
    args.out.mkdir(exist_ok=True)

    train, held_out = JetSet(args.jets, seed=2), JetSet(1280, seed=3)
    model = ParticleFlow(train.particles.size(-1), len(CLASSES))
    log.info("%d weights", sum(p.numel() for p in model.parameters()))
    trainer = Trainer(model, Settings(args.steps, args.batch, args.lr, args.out))
    trainer.fit(train, held_out, torch.Generator().manual_seed(4))


if __name__ == "__main__":
    main()
