import json
import random
import sys
import time
from dataclasses import dataclass, asdict

import torch
import torch.nn.functional as F

from ornn import ThrowModel
from siteswap import library


@dataclass
class Config:
    walks: int = 80000
    held: int = 1000
    height: int = 9
    width: int = 96
    batch: int = 160
    epochs: int = 14
    batches: int = 120
    warm_length: int = 14
    growth: int = 1
    lr: float = 1e-3
    seed: int = 11

    @classmethod
    def from_argv(cls, argv):
        pairs = dict(a.lstrip("-").split("=", 1) for a in argv)
        return cls(**{k: type(getattr(cls, k))(v) for k, v in pairs.items()})


class Curriculum:
    """Short walks first; every epoch lets longer ones in."""

    def __init__(self, walks, cfg):
        self.walks, self.cfg = walks, cfg
        self.rng = random.Random(cfg.seed)
        self.epoch = 0

    @property
    def limit(self):
        return self.cfg.warm_length + self.cfg.growth * self.epoch

    def draw(self):
        ready = [k for k, (_, throws) in enumerate(self.walks) if len(throws) <= self.limit]
        return [self.walks[k] for k in self.rng.sample(ready, self.cfg.batch)]

    def batches(self):
        for _ in range(self.cfg.batches):
            yield collate(self.draw(), self.cfg.height + 1)


def collate(walks, pad):
    longest = max(len(throws) for _, throws in walks)
    rows = [[pad] + throws + [pad] * (longest - len(throws)) for _, throws in walks]
    table = torch.tensor(rows)
    inputs, targets = table[:, :-1], table[:, 1:].clone()
    targets[targets == pad] = -100
    return inputs, targets, torch.tensor([balls for balls, _ in walks])


def sample_board(logits, inputs, rows=4):
    picked = logits[:rows].argmax(-1).tolist()
    return ["".join(map(str, r)) for r in picked], ["".join(map(str, r)) for r in inputs[:rows].tolist()]


@torch.no_grad()
def held_out(model, walks, cfg):
    model.eval()
    right = seen = 0
    for k in range(0, len(walks), 250):
        inputs, targets, balls = collate(walks[k:k + 250], cfg.height + 1)
        picked = model(inputs, balls).argmax(-1)
        mask = targets != -100
        right += (picked == targets)[mask].sum().item()
        seen += mask.sum().item()
    model.train()
    return right / seen


def main():
    cfg = Config.from_argv(sys.argv[1:])
    torch.manual_seed(cfg.seed)
    walks = library(cfg.walks + cfg.held, cfg.seed, cfg.height)
    held, walks = walks[:cfg.held], walks[cfg.held:]
    print(json.dumps(asdict(cfg)))

    model = ThrowModel(cfg.height + 2, cfg.width)
    slow = [p for n, p in model.named_parameters() if n.startswith("cell.")]
    fast = [p for n, p in model.named_parameters() if not n.startswith("cell.")]
    optimizer = torch.optim.RMSprop([{"params": slow, "lr": cfg.lr / 5}, {"params": fast}], lr=cfg.lr, alpha=0.9)
    curriculum = Curriculum(walks, cfg)
    running = 2.0
    for epoch in range(cfg.epochs):
        curriculum.epoch = epoch
        began = time.time()
        for k, (inputs, targets, balls) in enumerate(curriculum.batches()):
            logits = model(inputs, balls)
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            running = 0.98 * running + 0.02 * loss.item()
            board = sample_board(logits, inputs)
            if k % 40 == 0:
                print(f"  {epoch}.{k:03d} loss {running:.4f}  {board[1][0]} -> {board[0][0]}", flush=True)
        print(f"epoch {epoch} up to {curriculum.limit} beats: loss {running:.4f} held-out {held_out(model, held, cfg):.4f} in {time.time() - began:.1f}s", flush=True)
        torch.save({"model": model.state_dict(), "cfg": asdict(cfg)}, "throws.pt")


if __name__ == "__main__":
    main()
